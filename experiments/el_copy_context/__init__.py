"""Hard strings in longer contexts (Yang et al. 2025, Figures 1a and 2)."""
