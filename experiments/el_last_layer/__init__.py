"""Is what a network fails to copy missing from its features, or only from its last layer?

Four last layers on the same features: the network's own and three that are fitted anew.
"""
