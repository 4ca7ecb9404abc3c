"""What does a larger model do to the hard strings?

Yang et al. 2025, Figure 1b.
"""
