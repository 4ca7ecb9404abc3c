"""What a longer context does to the hard strings (Yang et al. 2025, Figure 1a)."""
