"""At equal loss, are larger networks flatter, and better for downstream tasks?

Liu, Xie, Li, Ma 2023, Figures 2 and 5.
"""

SCALES = ("smoke", "cpu", "paper")
