"""What does a longer context do to the hard strings?

Yang et al. 2025, Figures 1a and 2.
"""
