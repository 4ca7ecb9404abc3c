"""Hard strings at larger widths (Yang et al. 2025, Figure 1b)."""
