"""What do repeated sentences cost, how many repeats cost most, and which recipe pays least?

Hernandez et al. 2022, arXiv 2205.10487.
"""

SCALES = ("smoke", "pilot", "cpu")
