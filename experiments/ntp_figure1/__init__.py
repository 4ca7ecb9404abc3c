"""Which word vectors does the support of the data decide?

Thrampoulidis 2024, Figures 1 and 2.
"""
