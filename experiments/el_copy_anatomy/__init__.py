"""In what order does a network learn easy strings, hard strings and the copy?

Yang et al. 2025, section 3.2, Figures 2 and 4.
"""

SCALES = ("smoke", "cpu", "paper")
