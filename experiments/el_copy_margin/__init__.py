"""Does the margin at which a loss is least decide whether a network copies?

Five families of losses, each at the same three equilibrium margins.
"""
