"""Flatness (Liu, Xie, Li, Ma 2023)."""
