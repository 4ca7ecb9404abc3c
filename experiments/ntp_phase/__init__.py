"""How many dimensions does linear next-token data need?

Thrampoulidis 2024, section 2.
"""
