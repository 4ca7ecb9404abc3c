"""Separability, compatibility and margin of real text (Thrampoulidis 2024, section 2)."""
