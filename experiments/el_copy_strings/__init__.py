"""How many training strings does a recipe need before its runs copy?

Yang, Puli, Ranganath 2025, sections 3 and 6: E-losses are said to need fewer.
"""

SCALES = ("smoke", "pilot", "cpu")
