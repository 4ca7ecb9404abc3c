"""Does a network copy if it knows which strings are hard, by group DRO or equal weights?

Sagawa, Koh, Hashimoto, Liang 2020 (group DRO), on the task of Yang, Puli, Ranganath 2025
"""

SCALES = ("smoke", "pilot", "cpu")
