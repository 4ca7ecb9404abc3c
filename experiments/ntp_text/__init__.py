"""What do the conditions ask of real text?

Thrampoulidis 2024, section 2, on Genesis.
"""
