"""What do repeated sentences cost, how often are they worst, and which recipe minds them least?

Hernandez et al. 2022, arXiv 2205.10487.
"""

SCALES = ("smoke", "pilot", "cpu")
