"""Everything about the process: arithmetic, files, locks, errors."""
