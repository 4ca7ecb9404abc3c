"""Does the learning rate's decay bring a model down the hills, and a high rate along the river?

Wen et al. 2024 (arXiv 2410.05192), on bigrams of which half are certain.
"""

SCALES = ("smoke", "pilot", "cpu")
