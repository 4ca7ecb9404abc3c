"""How fast the training engine is, against PyTorch and against itself.

One command: ``python -m experiments.bench``.
"""
