"""Made worse at equal loss, are adversarial models sharper, and worse downstream?

Liu, Xie, Li, Ma 2023, Tables 1 and 2.
"""

SCALES = ("smoke", "pilot", "cpu", "paper")
