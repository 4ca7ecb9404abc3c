"""What the processes of one training decide together, and who writes its files."""

from collections.abc import Callable

import jax
import numpy as np
from jax.experimental import multihost_utils


def is_first() -> bool:
    """Whether this process writes the files."""
    return jax.process_index() == 0


def agreed(stop: Callable[[], int | None]) -> Callable[[], int | None]:
    """``stop`` for all processes: the signal that any of them has noted, at the same update.

    To be asked equally often by each.
    """
    if jax.process_count() == 1:
        return stop

    def largest() -> int | None:
        noted = multihost_utils.process_allgather(np.int32(stop() or 0))
        return int(noted.max()) or None

    return largest
