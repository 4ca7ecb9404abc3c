"""Does a network of the paper's size memorise under cross-entropy, and copy under E1?

Yang et al. 2025, Figures 1a and 2.
"""

ONLY = "recipe"
