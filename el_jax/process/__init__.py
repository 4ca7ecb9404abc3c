"""Process life: arithmetic, files, locks, errors."""
