"""After the loss has converged, does the trace keep falling, and the probe rising?

Liu, Xie, Li, Ma 2023, Figures 1 and 3.
"""

SCALES = ("smoke", "cpu", "paper")
