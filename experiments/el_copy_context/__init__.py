"""What in the data feeds the shortcut, where training strings are fitted?

Yang et al. 2025, Figure 1a and section 3.2.
"""

SCALES = ("smoke", "cpu", "paper")
