"""Do equal-learning losses find the arm, where next-token prediction guesses it?

Yang, Puli, Ranganath 2025, Table 1.
"""

SCALES = ("smoke", "cpu", "paper")
