"""How many training strings does a recipe need before its runs copy?

Yang, Puli, Ranganath 2025, section 1; Jordan 2024 (Muon).
"""

SCALES = ("smoke", "pilot", "cpu")
