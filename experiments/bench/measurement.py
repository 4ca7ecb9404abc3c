"""The numbers of one case of a benchmark."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np


class Measurement(NamedTuple):
    """One case, measured in rounds, or the reason why it was not.

    Attributes:
        case: model, sizes and loss.
        values: quantity, with its unit unless it is a ratio -> a value for each round; or one
            number, measured once.
        not_measured: the reason why there are no values; empty if there are.
    """

    case: str
    values: Mapping[str, float | Sequence[float] | np.ndarray] = MappingProxyType({})
    not_measured: str = ""
