"""Scales of a benchmark: seconds for a check, minutes on a CPU, or sizes for an accelerator."""

from typing import Literal, get_args

Scale = Literal["smoke", "cpu", "gpu"]
SCALES: tuple[Scale, ...] = get_args(Scale)
