"""When training strings are fitted and unseen hard ones are wrong, do E-losses repair it?

Yang, Puli, Ranganath 2025, Figure 4, Table 3.
"""

SCALES = ("smoke", "quick", "pilot", "cpu")
ONLY = "arm"
