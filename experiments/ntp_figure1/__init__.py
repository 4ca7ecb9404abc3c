"""Word vectors in the plane, by supports and probabilities (Thrampoulidis 2024, Figures 1, 2)."""
