"""Whose max margin does each optimizer lean to in a network of two layers?

Gronich, Vardi 2026.
"""
