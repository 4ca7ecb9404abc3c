"""Does a wider network leave the shortcut less often, and which recipe holds up?

Yang et al. 2025, Figure 1b.
"""

SCALES = ("smoke", "pilot", "cpu", "paper")
