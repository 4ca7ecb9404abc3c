"""A function that runs on every device of a layout."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax


@dataclasses.dataclass(frozen=True)
class OnDevices:
    """A function of global arrays, computed on all devices of a layout.

    Attributes:
        call: the function.
        lower: takes the same arguments, or ``jax.ShapeDtypeStruct`` in their place, and returns the
            lowered program, which can be compiled without a call.
    """

    call: Callable[..., Any]
    lower: Callable[..., jax.stages.Lowered]

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        return self.call(*args)
