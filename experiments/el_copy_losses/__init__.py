"""Which losses copy from the right place?

Yang et al. 2025, Figures 4 and 5, Table 3.
"""
