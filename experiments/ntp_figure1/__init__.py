"""Which word vectors do supports decide?

Thrampoulidis 2024, Figures 1 and 2.
"""
