"""What a larger width does to the hard strings (Yang et al. 2025, Figure 1b)."""
