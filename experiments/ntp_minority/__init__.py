"""How fast is a minority learnt on which a spurious feature misleads?

galaxy532/Implicit-Bias-Spurious 2026.
"""
