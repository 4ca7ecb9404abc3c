"""Claims of Liu, Xie, Li, Ma (2023) on a training that goes on after its loss has converged.

Section 5.1 and Figures 1 and 3: with the loss near the entropy, the accuracy of probes goes on
rising, and the trace of the Hessian goes on falling. A loss that still falls by .01 nats could do
both by itself, so each claim is also judged from where only .001 nats are left.
"""

import pandas as pd

from experiments.flat_time.settings import (
    ACCURACIES,
    KL,
    OPTIMIZERS,
    TOLERANCES,
    WORLDS,
    named,
    since,
)
from experiments.harness.claims import Claim, claim_level

FIGURES = {"adamw": "Liu et al. 2023, Figure 1", "sgd": "Liu et al. 2023, Figure 3"}
OURS = "not in the paper"
SATURATED = 0.01  # nats above the entropy, as far as the models of the paper's Table 1 are
# points of accuracy from the start of the plateau to its end, of the paper's Figure 3
POINTS = {("pcfg", "sgd"): "+1.6 points", ("hmm", "sgd"): "+4.0 points"}
DRAWN = "yes, values only drawn"
LABELS = dict(zip(ACCURACIES, ("the nearer label", "the farther label"), strict=True))
SCALE_FREE = "scale_free_trace"
TRACES = {"fisher_trace": "Fisher trace", SCALE_FREE: "scale-free trace"}


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    return [
        claim
        for world in WORLDS
        for optimizer in OPTIMIZERS
        for claim in _of_setting(results, world, optimizer)
    ]


def _of_setting(results: pd.DataFrame, world: str, optimizer: str) -> list[Claim]:
    setting, source = named(world, optimizer), FIGURES[optimizer]
    who = f"{WORLDS[world]}, {OPTIMIZERS[optimizer]}"
    found = [
        claim_level(
            results, setting, KL, at_most=SATURATED,
            text=f"{who}: the loss comes within {SATURATED} nats of the entropy",
            source=source, paper_value="within .01 (Table 1)",
        )
    ]  # fmt: skip
    for tolerance, nats in TOLERANCES.items():
        left = f"{who}: with KL within {nats:g} nats of its end"
        found += [
            claim_level(
                results, setting, since(accuracy, tolerance), at_least=0.0,
                text=f"{left}, the probe of {label} still gains",
                source=OURS if tolerance else source,
                paper_value="" if tolerance else POINTS.get((world, optimizer), DRAWN),
            )
            for accuracy, label in LABELS.items()
        ]  # fmt: skip
        found += [
            claim_level(
                results, setting, since(trace, tolerance), at_most=0.0,
                text=f"{left}, the {words} still falls",
                source=OURS if tolerance or trace == SCALE_FREE else source,
                paper_value="" if tolerance or trace == SCALE_FREE else DRAWN,
            )
            for trace, words in TRACES.items()
        ]  # fmt: skip
    return found
