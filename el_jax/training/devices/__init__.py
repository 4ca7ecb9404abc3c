"""A training on many devices: layout of its arrays, its runs, and their memory."""
