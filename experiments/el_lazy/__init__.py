"""Does a network copy less if its training is lazier, that is, if its features move less?

Its outputs are those of a transformer less what they were at the start, times a scale.
"""

SCALES = ("smoke", "pilot", "cpu")
