"""What do compatibility and separability ask of real text?

Thrampoulidis 2024, section 2, on Genesis.
"""
