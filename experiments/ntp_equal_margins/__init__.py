"""When is a decoder with equal margins, to which E-losses lead, better than the max-margin one?

Thrampoulidis 2024, section 7 (other training objectives, generalisation of W_mm).
"""

SCALES = ("smoke", "pilot", "cpu")
