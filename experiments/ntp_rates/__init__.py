"""Rates at which linear next-token prediction reaches its limits, and floors where it stalls."""
