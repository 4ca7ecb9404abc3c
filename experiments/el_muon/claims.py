"""Claims on the effect of the optimizer, and of the loss in addition, on copying in the swap test.

Each claim may be tested after every seed; a difference of a fifth matters.
"""

from functools import partial

from experiments.harness.claims import greater

COPIES, HARD = "swap_copies", "test_precise_hard_accuracy"
CE, E1, E2 = ({"loss": loss} for loss in ("cross_entropy", "e1", "e2"))
COLD, WARM = {"warmup_steps": 0}, {"warmup_steps": 1000}
SGD, SIGNUM, ADAMW, MUON = ({"optimizer": name} for name in ("sgd", "signum", "adamw", "muon"))

_greater = partial(greater, metric=COPIES, test="anytime", matters=0.2)

CLAIMS = [
    _greater(
        "Without warm-up cross-entropy copies more under Muon than under AdamW",
        where=CE | COLD | MUON,
        than=CE | COLD | ADAMW,
    ),
    _greater(
        "With warm-up, too",
        where=CE | WARM | MUON,
        than=CE | WARM | ADAMW,
    ),
    _greater(
        "Without warm-up it copies more under Muon than under Signum",
        where=CE | COLD | MUON,
        than=CE | COLD | SIGNUM,
    ),
    _greater(
        "With warm-up it copies more under Muon than under SGD with momentum",
        where=CE | WARM | MUON,
        than=CE | WARM | SGD,
    ),
    _greater(
        "Under Muon without warm-up E1 copies more than cross-entropy",
        where=E1 | COLD | MUON,
        than=CE | COLD | MUON,
    ),
    _greater(
        "Under AdamW with warm-up E1 copies more than cross-entropy",
        where=E1 | WARM | ADAMW,
        than=CE | WARM | ADAMW,
    ),
]
