"""Toward which norm's max margin does each optimizer lean?

Fan et al. 2025, and beyond one-hot data.
"""
