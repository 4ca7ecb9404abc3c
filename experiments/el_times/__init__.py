"""Does a transformer learn rare facts as soon as frequent ones, by a loss or an optimizer?

Vasudeva et al. 2025 (spectral descent); Yang, Puli, Ranganath 2025 (E-losses).
"""

SCALES = ("smoke", "pilot", "cpu")
