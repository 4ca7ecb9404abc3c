"""The dimensions that random data need (Thrampoulidis 2024, section 2)."""
