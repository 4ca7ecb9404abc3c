"""Names of the trained settings and of their numbers."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float

from experiments.harness.tables import results_frame, with_parts

WORLDS = {"pcfg": "PCFG", "hmm": "HMM"}
KL = "kl"
ACCURACIES = ("accuracy_1", "accuracy_2")  # of the nearer and the farther label
LEVEL = "level"  # nats above the entropy at which the networks of a seed are compared
UPDATES = "updates_of_training"


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
    """The name of a width in the table of networks of equal loss."""
    return f"cross-entropy, warm-up, {WORLDS[world]}, width {width}"


def suffix_of(world: str, width: int, num_updates: int) -> str:
    """The end of the name of a trained setting."""
    return f", {WORLDS[world]}, width {width}, {num_updates} updates"


def widths(results: pd.DataFrame, world: str) -> list[int]:
    """The widths that were trained in a world, ascending."""
    return sorted({*_trained(results, world)["width"]})


def _trained(results: pd.DataFrame, world: str) -> pd.DataFrame:
    """The rows of a world, with columns ``width`` and ``updates``."""
    pattern = rf".*, {WORLDS[world]}, width (?P<width>\d+), (?P<updates>\d+) updates"
    return with_parts(results, pattern)


def at_equal_loss(results: pd.DataFrame) -> pd.DataFrame:
    """Results of networks of a seed at the KL that the last of its widths reaches.

    The rate of every training falls to 0, so that no noise of updates is in a loss. A width of a
    seed has one point for each length, and its numbers lie on lines in log KL between neighbouring
    ones. Left out is a seed with a width whose trainings are all below.

    Args:
        results: of the trainings.

    Returns:
        Results by :func:`named`: the metrics of the trainings but KL, ``UPDATES`` and ``LEVEL``.
    """
    rows = []
    for world in WORLDS:
        for seed, of_seed in _trained(results, world).groupby("seed"):
            courses = {width: _courses(runs) for width, runs in of_seed.groupby("width")}
            if not all(KL in of_width for of_width in courses.values()):
                continue
            nats = max(of_width[KL].min() for of_width in courses.values())
            if any(of_width[KL].iloc[0] < nats for of_width in courses.values()):
                continue
            for width, of_width in courses.items():
                kl = of_width.pop(KL).to_numpy()
                rows.append((named(world, width), seed, LEVEL, nats))
                for metric, course in of_width.items():
                    value = where(kl, nats, course.to_numpy(float))
                    rows.append((named(world, width), seed, metric, value))
    return results_frame(rows)


def _courses(runs: pd.DataFrame) -> dict[str, pd.Series]:
    """The metrics of a width and seed, and the updates, over the lengths of its trainings."""
    wide = runs.pivot(index="updates", columns="metric", values="value").sort_index()
    return {**dict(wide.items()), UPDATES: wide.index.to_series()}


def where(kl: Float[np.ndarray, " n"], nats: float, course: Float[np.ndarray, " n"]) -> float:
    """The value of a course where KL first falls to so many nats, on a line in log KL.

    Args:
        kl: of each length, positive; the first at least ``nats``, the least at most.
        nats: the divergence.
        course: a number of each length.
    """
    after = int((kl <= nats).argmax())
    if after == 0:
        return float(course[0])
    high, low = np.log(kl[after - 1 : after + 1])
    share = (high - np.log(nats)) / (high - low)
    return float(course[after - 1] + share * (course[after] - course[after - 1]))
