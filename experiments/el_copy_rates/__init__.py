"""At which learning rates do a loss and warm-up copy?

Yang et al. 2025, Figure 4 and Table 3.
"""
