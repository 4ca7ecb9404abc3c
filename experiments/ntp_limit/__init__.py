"""What does training separate of text that no decoder separates, and what does it come to?

Thrampoulidis 2024, beyond its conditions; Ji and Telgarsky 2019 (arXiv 1803.07300).
"""
