"""Experiments: one folder per figure or table, run by ``python -m experiments``."""
