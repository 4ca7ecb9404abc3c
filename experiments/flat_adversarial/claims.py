"""Claims of Liu, Xie, Li, Ma (2023) on models whose loss is low and whose features are bad.

Tables 1 and 2: a model trained against a downstream task has the loss of an ordinary one, a lower
accuracy of its probe, and a larger trace of the Hessian; and the table of true conditionals, whose
loss is the least, has features that are worse than either's.
"""

import pandas as pd

from experiments.flat_time.run import WORLDS
from experiments.harness.claims import contrast, greater
from experiments.harness.judging import Claim

TABLE_1, TABLE_2 = "Liu et al. 2023, Table 1", "Liu et al. 2023, Table 2"
# the weight of which claims are made: the largest that cost less than EQUAL in the pilot
CHOSEN = {"pcfg": 0.1, "hmm": 1.0}
EQUAL = 0.01  # nats of KL within which losses count as equal, as those of Table 1 are
ATTACKED, LOOKUP = "accuracy_1", "accuracy_1_lookup"  # of a network, of the true conditionals


def derived(results: pd.DataFrame) -> pd.DataFrame:
    """Results, and as one metric ``features`` of both the accuracy for the attacked label."""
    both = results[results["metric"].isin((ATTACKED, LOOKUP))]
    return pd.concat([results, both.assign(of=both["metric"], metric="features")])


def _of_world(world: str) -> list[Claim]:
    ordinary, against = ({"world": world, "weight": weight} for weight in (0.0, CHOSEN[world]))
    who = f"{world.upper()}, λ = {CHOSEN[world]:g}"
    return [
        contrast(
            f"{who}: the adversary costs less than {EQUAL} nats of KL",
            "kl",
            [(1.0, ordinary), (-1.0, against)],
            by=-EQUAL,
            paper=".002 nats",
            source=TABLE_1,
        ),
        greater(
            f"{who}: the probe of the attacked label is worse than after ordinary training",
            ATTACKED,
            ordinary,
            against,
            paper="89.9 against 83.1 (A), 49.2 against 42.3 (B)",
            source=TABLE_1,
        ),
        greater(
            f"{who}: its Fisher trace is larger",
            "fisher_trace",
            against,
            ordinary,
            paper="19.3 against 8.0",
            source=TABLE_2,
        ),
        greater(
            f"{world.upper()}: ordinary features are better than the true conditionals for the "
            "nearer label",
            "features",
            ordinary | {"of": ATTACKED},
            ordinary | {"of": LOOKUP},
            paper="89.9 against 71.2 (A), 49.2 against 39.7 (B)",
            source=TABLE_1,
        ),
    ]


CLAIMS = [claim for world in WORLDS for claim in _of_world(world)]
