"""Which margins does E1 lead to, by vocabulary, strength and warm-up, and do networks copy there?

Yang, Puli, Ranganath 2025, E1 and warm-up; the paper searches powers of 2 for λ
"""

SCALES = ("smoke", "pilot", "cpu")
