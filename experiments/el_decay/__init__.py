"""Is heavy weight decay as good on few strings and for long, and does it help E1 and Muon?"""

SCALES = ("smoke", "pilot", "cpu")
