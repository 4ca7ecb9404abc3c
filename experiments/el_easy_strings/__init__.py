"""Do easy strings keep a network from learning hard ones, when there are equally many of those?

Yang, Puli, Ranganath 2025, section 3.2 (shares of easy strings); Ilyas et al. 2022 (datamodels).
"""

SCALES = ("smoke", "pilot", "cpu")
