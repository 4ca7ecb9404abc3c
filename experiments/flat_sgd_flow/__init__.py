"""Does the noise of SGD alone flatten a converged model, at the predicted rate?

Liu, Xie, Li, Ma 2023, Theorem 4.3, after Li, Wang, Arora 2021.
"""
