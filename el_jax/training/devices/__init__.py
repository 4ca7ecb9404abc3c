"""A training on the devices there are: which of them has what, and how much fits."""
