"""Benchmarks of the training engine, against PyTorch and against itself.

One command: ``python -m experiments.bench``.
"""
