"""Of networks that fit the same strings at one loss, do those that copy fill more of the space?

Lau et al. 2023, arXiv 2308.12108, on the copy task of Yang, Puli, Ranganath 2025.
"""
