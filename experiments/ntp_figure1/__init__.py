"""Word vectors in the plane: supports and probabilities (Thrampoulidis 2024, Figures 1 and 2)."""
