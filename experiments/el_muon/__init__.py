"""Does the optimizer, rather than the loss, decide which mechanism a copy task ends in?

Jordan 2024 (Muon); Yang, Puli, Ranganath 2025, Figure 4 and Table 3.
"""

SCALES = ("smoke", "pilot", "cpu")
