"""What do the loss, warm-up and Adam's memory each do?

Yang et al. 2025, Figure 4 and Table 3.
"""
