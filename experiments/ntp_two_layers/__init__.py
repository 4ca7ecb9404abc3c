"""Toward which norm's max margin does each optimizer lean in a network of two layers?

Gronich, Vardi 2026.
"""
