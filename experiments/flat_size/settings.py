"""Names of the trained settings and of their numbers."""

from typing import NamedTuple

import pandas as pd

from experiments.harness.tables import settings_with

WORLDS = {"pcfg": "PCFG", "hmm": "HMM"}
KL = "kl"
ACCURACIES = ("accuracy_1", "accuracy_2")  # of the nearer and the farther label
EQUAL_LOSS = 0.05  # nats above the entropy at which networks are compared


class Convention(NamedTuple):
    """A way to count the trace of a network as that of one of the largest width.

    Attributes:
        words: its name in texts.
        scale: s of ``el_jax.models.surgery`` as a power of 1/k; None without embedding.
    """

    words: str
    scale: float | None


CONVENTIONS = {
    "trace_released": Convention("embedded as the released code does, s = 1/k", 1.0),
    "trace_balanced": Convention("embedded so that tables keep theirs, s = 1/√k", 0.5),
    "trace_matrices": Convention("of matrices, which embedding does not change", None),
    "trace": Convention("of the network as it is", None),
}


def named(world: str, width: int) -> str:
    """The name of a setting."""
    return f"cross-entropy, warm-up{suffix_of(world, width)}"


def suffix_of(world: str, width: int) -> str:
    """The end of the name of a setting."""
    return f", {WORLDS[world]}, width {width}"


def widths(results: pd.DataFrame, world: str) -> list[int]:
    """The widths that were trained in a world, ascending."""
    start = named(world, 0).removesuffix("0")
    known = settings_with(results, KL)
    return sorted(int(name.removeprefix(start)) for name in known if name.startswith(start))


def at_equal_loss(metric: str) -> str:
    """The name of a number where KL is ``EQUAL_LOSS``."""
    return f"{metric}_at_equal_loss"
