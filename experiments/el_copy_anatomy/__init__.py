"""Easy strings starve the hard ones of gradient (Yang et al. 2025, Figures 2 and 4)."""
