"""Word vectors in the plane, by supports and by probabilities (Thrampoulidis 2024, Figure 1)."""
