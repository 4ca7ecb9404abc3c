"""How large a benchmark is: seconds of a check, minutes on a CPU, or what an accelerator is for."""

from typing import Literal, get_args

Scale = Literal["smoke", "cpu", "gpu"]
SCALES: tuple[Scale, ...] = get_args(Scale)
