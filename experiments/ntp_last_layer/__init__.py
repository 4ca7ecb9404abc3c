"""Does a network's last layer turn to the max margin of its own features, as in a linear model?

Thrampoulidis 2024, Theorem 2, whose features are frozen; in the norms of three optimizers.
"""

ONLY = "method"
