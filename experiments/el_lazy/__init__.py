"""Does a network copy less the lazier its training, that is, the less its features move?

Its outputs are those of a transformer less what they were at the start, times a scale.
"""

SCALES = ("smoke", "pilot", "cpu")
