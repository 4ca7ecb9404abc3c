"""Does a linear decoder learn rare contexts as soon as frequent ones, by a loss or an optimizer?

Vasudeva et al. 2025 (spectral descent); Yang, Puli, Ranganath 2025 (E-losses).
"""
