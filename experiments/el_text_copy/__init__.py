"""Does equal learning retrieve a word of a natural sentence more often?

Yang, Puli, Ranganath 2025, Table 2.
"""

SCALES = ("smoke", "cpu", "pretrained", "paper")
