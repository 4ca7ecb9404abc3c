"""Claims of Liu, Xie, Li, Ma (2023) on models whose loss is low and whose features are bad.

Tables 1 and 2: a model trained against a downstream task has the loss of an ordinary one, a lower
accuracy of its probe, and a larger trace of the Hessian; and the table of true conditionals, whose
loss is the least, has features that are worse than either's.
"""

import pandas as pd

from experiments.flat_adversarial.settings import (
    ATTACKED,
    CHOSEN,
    EQUAL,
    KL,
    LOOKUP,
    OTHER,
    TRACES,
    WEIGHTS,
    WORLDS,
    named,
)
from experiments.harness.claims import Claim, claim_contrast, claim_greater, claim_trend
from experiments.harness.tables import settings_with

TABLE_1, TABLE_2 = "Liu et al. 2023, Table 1", "Liu et al. 2023, Table 2"
OURS = "not in the paper"


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    return [claim for world in WORLDS for claim in _of_world(results, world)]


def _of_world(results: pd.DataFrame, world: str) -> list[Claim]:
    ordinary, against = named(world, 0), named(world, CHOSEN[world])
    who = f"{WORLDS[world]}, λ = {CHOSEN[world]:g}"
    trained = [named(world, w) for w in WEIGHTS if named(world, w) in settings_with(results, KL)]
    return [
        claim_contrast(
            results, KL, {ordinary: 1.0, against: -1.0}, by=-EQUAL,
            text=f"{who}: the adversary costs less than {EQUAL} nats of KL",
            source=TABLE_1, paper_value=".002 nats",
        ),
        claim_greater(
            results, ATTACKED, ordinary, against,
            text=f"{who}: the probe of the attacked label is worse than after ordinary training",
            source=TABLE_1, paper_value="89.9 against 83.1 (A), 49.2 against 42.3 (B)",
        ),
        claim_greater(
            results, OTHER, ordinary, against,
            text=f"{who}: so is that of a label that was not attacked",
            source=OURS, paper_value="",
        ),
        *(
            claim_greater(
                results, trace, against, ordinary,
                text=f"{who}: its {words} is larger",
                source=TABLE_2 if trace == "fisher_trace" else OURS,
                paper_value="19.3 against 8.0" if trace == "fisher_trace" else "",
            )
            for trace, words in TRACES.items()
        ),
        claim_trend(
            results, "fisher_trace", trained or [ordinary, against], rising=True,
            text=f"{WORLDS[world]}: the Fisher trace rises with the strength of the adversary "
            "(slope per step)",
            source=OURS, paper_value="",
        ),
        _above_lookup(results, ordinary, f"{WORLDS[world]}: ordinary features are better than the "
                      "true conditionals for the nearer label"),
    ]  # fmt: skip


def _above_lookup(results: pd.DataFrame, setting: str, text: str) -> Claim:
    """Accuracy of a network's probe above that of the conditionals, both in one setting."""
    metric = f"{ATTACKED}_{LOOKUP}"
    table = results[(results["setting"] == setting) & results["metric"].isin((ATTACKED, metric))]
    both = table.assign(setting=table["metric"], metric="accuracy")
    return claim_greater(
        both, "accuracy", ATTACKED, metric,
        text=text, source=TABLE_1, paper_value="89.9 against 71.2 (A), 49.2 against 39.7 (B)",
    )  # fmt: skip
