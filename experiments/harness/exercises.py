"""Exercises of the notebooks: an answer is correct if its claims hold."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import ArrayLike

from experiments.harness.judging import Claim, Verdict
from experiments.harness.tables import tidy


def grade(claims: Sequence[Claim], **measured: ArrayLike) -> None:
    """Print the verdict of each claim on the measurements, and whether all hold.

    Args:
        claims: the claims that an answer must make true.
        measured: metric -> one value, or one per seed.
    """
    rows = [
        {"seed": seed, "metric": metric, "value": value}
        for metric, values in measured.items()
        for seed, value in enumerate(np.atleast_1d(np.asarray(values, float)))
    ]
    verdicts = [claim.judge(tidy(rows)) for claim in claims]
    for claim, outcome in zip(claims, verdicts, strict=True):
        print(f"{outcome.verdict.value}: {claim.text} ({outcome.ours})")
    solved = all(outcome.verdict is Verdict.HOLDS for outcome in verdicts)
    print("solved" if solved else "not yet")
