"""The max margin each optimiser leans to (Fan et al. 2025; Thrampoulidis 2024, section 7)."""
