"""How do easy strings starve the hard ones?

Yang et al. 2025, Figures 2 and 4.
"""
