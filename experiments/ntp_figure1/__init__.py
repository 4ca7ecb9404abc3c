"""Word vectors in the plane, from supports or P (Thrampoulidis 2024, Figures 1 and 2)."""
