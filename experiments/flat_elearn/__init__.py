"""Is the equally-learnt solution the flatter one?

Yang, Puli, Ranganath 2025 in the terms of Liu, Xie, Li, Ma 2023; in neither paper.
"""

SCALES = ("smoke", "cpu", "paper")
