"""The bias of gradient descent, normalised descent and Adam (Thrampoulidis 2024, Appendix A.2)."""
