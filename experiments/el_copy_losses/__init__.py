"""How strong should an E-loss be, does it need warm-up, and does it work with 500 letters?

Yang et al. 2025, Figures 4 and 5, Table 3.
"""

SCALES = ("smoke", "cpu", "paper")
