"""Which methods copy when all are stopped at the same training loss?"""

SCALES = ("smoke", "pilot", "cpu")
