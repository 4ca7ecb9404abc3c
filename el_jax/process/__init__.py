"""The process: arithmetic, files, locks, errors."""
