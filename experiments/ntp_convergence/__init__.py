"""Gradient descent, normalised descent and Adam, one bias (Thrampoulidis 2024, Appendix A.2)."""
