"""Claims of Puli et al. (2023) on the linear perception task, with the numbers of a replication.

With two classes E1 is their marg-log and E2 their spectral decoupling, so this is the theory behind
both. E3 has no counterpart there.
"""

import math

from experiments.el_margins.run import LOSSES
from experiments.harness.claims import level, trend
from experiments.harness.judging import OURS
from experiments.harness.names import name_of

SOURCE = "Puli et al. 2023, linear perception (a replication)"
WORST_GROUP, RATIO = "worst_group_accuracy", "shortcut_ratio"
BASE = {"shortcut_size": 10}  # as in the published experiment
CE, E1, E2, E3 = LOSSES
RIGHT = 0.99
# at the first look, with 5 training sets, E-losses were right on 1.00 of each, which is no spread
LOOKS = {"cpu": 2}


CLAIMS = [
    level(
        "Cross-entropy is worse than a guess where the shortcut is wrong",
        WORST_GROUP,
        CE | BASE,
        at_most=0.5,
        paper=".400",
        source=SOURCE,
    ),
    trend(
        "Its accuracy there falls with B (2, 5, 10, 20, 50; slope per doubling)",
        WORST_GROUP,
        CE,
        "shortcut_size",
        rising=False,
        position=math.log2,
        paper=".703, .505, .405, .356, .343",
        source=SOURCE,
    ),
    *(
        level(
            f"{name_of(loss)} is right there",
            WORST_GROUP,
            loss | BASE,
            at_least=RIGHT,
            paper=paper,
            source=SOURCE if paper else OURS,
        )
        for loss, paper in ((E1, "1.000"), (E2, "1.000"), (E3, ""))
    ),
]
