"""Which losses, weightings, optimizers and regularisers copy, once each is tuned alike?"""

SCALES = ("smoke", "pilot", "cpu")
ONLY = "method"
