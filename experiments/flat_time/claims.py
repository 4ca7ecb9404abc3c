"""Claims of Liu, Xie, Li, Ma (2023) on a training that goes on after its loss has converged.

Sections 3.3 and 5, Figures 1 and 3: with the loss near the entropy, the accuracy of probes goes on
rising, and the trace of the Hessian goes on falling. A loss that still falls could do both by
itself. The control is SGD at a fifth of the rate: noise moves the trace by the square of the rate
(Theorem 4.3), descent of what is left of the loss by the rate.
"""

import pandas as pd

from experiments.flat_time.settings import (
    ACCURACIES,
    ADAMW,
    AFTERWARDS,
    KL_AT_SATURATION,
    KL_MOVED,
    SGD,
    SLOW,
    TRACES,
    WORLDS,
    named,
    since,
)
from experiments.harness.claims import Claim, claim_contrast, claim_greater, claim_level

FIGURES = {
    ADAMW: "Liu et al. 2023, Figure 1",
    SGD: "Liu et al. 2023, Figure 3",
    SLOW: "not in the paper",
}
THEOREM = "Liu et al. 2023, Theorem 4.3"
OURS = "not in the paper"
SATURATED = 0.01  # nats above the entropy, as far as the models of the paper's Table 1 are
STILL = 0.01  # nats by which a loss may move and be called converged
RATIO = 5.0  # of the two rates of SGD
# points of accuracy from the start of the plateau to its end, of the paper's Figure 3
POINTS = {("pcfg", SGD): "+1.6 points", ("hmm", SGD): "+4.0 points"}
DRAWN = "yes, values only drawn"
LABELS = dict(zip(ACCURACIES, ("the nearer label", "the farther label"), strict=True))
WORDS = dict(zip(TRACES, ("Fisher trace", "scale-free trace"), strict=True))


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    return [
        claim
        for world in WORLDS
        for claim in (
            _saturated(results, world),
            *(c for way in AFTERWARDS for c in _afterwards(results, world, way)),
            *(c for trace in TRACES for c in _of_noise(results, world, trace)),
        )
    ]


def _saturated(results: pd.DataFrame, world: str) -> Claim:
    return claim_level(
        results, named(world, ADAMW), KL_AT_SATURATION, at_most=SATURATED,
        text=f"{WORLDS[world]}: the loss comes within {SATURATED} nats of the entropy",
        source=FIGURES[ADAMW], paper_value="within .01 (Table 1)",
    )  # fmt: skip


def _afterwards(results: pd.DataFrame, world: str, way: str) -> list[Claim]:
    setting, source = named(world, way), FIGURES[way]
    drawn = "" if way == SLOW else DRAWN
    who = f"{WORLDS[world]}, then {way}"
    return [
        claim_level(
            results, setting, KL_MOVED, at_most=STILL,
            text=f"{who}: the loss moves by less than {STILL} nats",
            source=source, paper_value=drawn,
        ),
        *(
            claim_level(
                results, setting, since(accuracy), at_least=0.0,
                text=f"{who}: the probe of {label} gains",
                source=source, paper_value=POINTS.get((world, way), drawn),
            )
            for accuracy, label in LABELS.items()
        ),
        *(
            claim_level(
                results, setting, since(trace), at_most=0.0,
                text=f"{who}: the {words} falls (change of its logarithm)",
                source=source if trace == TRACES[0] else OURS,
                paper_value=drawn if trace == TRACES[0] else "",
            )
            for trace, words in WORDS.items()
        ),
    ]  # fmt: skip


def _of_noise(results: pd.DataFrame, world: str, trace: str) -> list[Claim]:
    """Falls with the rate; and faster than it, as noise does and descent does not."""
    fast, slow = named(world, SGD), named(world, SLOW)
    who = f"{WORLDS[world]}: the {WORDS[trace]} falls"
    return [
        claim_greater(
            results, since(trace), slow, fast,
            text=f"{who} more by SGD at the larger rate", source=THEOREM, paper_value="yes",
        ),
        claim_contrast(
            results, since(trace), {slow: RATIO, fast: -1.0},
            text=f"{who} more than {RATIO:g} times as much at {RATIO:g} times the rate of SGD",
            source=THEOREM, paper_value="25 times, at first",
        ),
    ]  # fmt: skip
