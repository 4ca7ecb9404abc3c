"""How much of the spread of runs is the data's, and how much the network's?

The copy task of Yang et al. 2025; not in the paper.
"""
