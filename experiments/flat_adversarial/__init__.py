"""At equal loss, are models trained by an adversary sharper, and worse downstream?

Liu, Xie, Li, Ma 2023, Tables 1 and 2.
"""

SCALES = ("smoke", "pilot", "cpu", "paper")
