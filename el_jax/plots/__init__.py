"""Figures from arrays: what experiments and notebooks share."""
