"""What does training separate in text that no decoder separates, and where does it end?

Thrampoulidis 2024, beyond its conditions; Ji and Telgarsky 2019 (arXiv 1803.07300).
"""
