"""Stopped at the same training loss, which methods copy?"""

SCALES = ("smoke", "pilot", "cpu")
