"""Does an ensemble of networks copy more than one, and more than one with heavy weight decay?

Kim, Kotha, Liang, Hashimoto 2025, arXiv 2509.14786.
"""
