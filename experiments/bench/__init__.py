"""How fast is the training engine?

Against PyTorch and against itself.
"""

SCALES = ("smoke", "cpu", "gpu")
ONLY = "benchmark"
