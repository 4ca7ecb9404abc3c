"""How fast does training learn a minority that a spurious feature misleads?

galaxy532/Implicit-Bias-Spurious 2026.
"""
