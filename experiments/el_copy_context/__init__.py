"""What in the data feeds the shortcut?

Yang et al. 2025, Figures 1a and 2.
"""
