"""Statements about a problem that need no solver: losses, subspaces, certificates, flows."""
