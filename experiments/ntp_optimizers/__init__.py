"""Whose max margin does each optimizer lean to?

Fan et al. 2025, and beyond one-hot data.
"""
