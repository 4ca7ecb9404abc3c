"""Claims of Yang et al. (2025) on the course of training on the copy task.

Beside the metrics at the end of training, results.csv holds for each run: ``..._at_first``, a
metric after 100 updates; ``mean_accuracy_gap``, accuracy on easy minus on hard training strings,
averaged over training; ``hard_accuracy_when_fitted``, accuracy on unseen hard strings when the hard
training strings were fitted first; ``rectified_afterwards``, what was still gained after that.
"""

from experiments.harness.claims import greater, level
from experiments.harness.names import name_of

CE = {"loss": "cross_entropy", "warmup_steps": 0}
CE_WARM_UP = {"loss": "cross_entropy", "warmup_steps": 1000}
E2 = {"loss": "e2", "lam": 4.0, "warmup_steps": 0}
E2_WARM_UP = {"loss": "e2", "lam": 4.0, "warmup_steps": 1000}
FIGURE_2, FIGURE_4 = "Yang et al. 2025, Figure 2", "Yang et al. 2025, Figure 4"
SECTION = "Yang et al. 2025, section 3.2"

CLAIMS = [
    level(
        "Every run of cross-entropy fits easy strings while half of the hard are wrong",
        "ever_stratified_by_accuracy",
        CE,
        at_least=0.99,
        paper="one of three regimes",
        source=SECTION,
    ),
    level(
        "Cross-entropy fits the easy strings within 100 updates",
        "train_easy_ce_at_first",
        CE,
        at_most=0.1,
        paper="loss 0 after 50 updates",
        source=FIGURE_2,
    ),
    level(
        "It has not learnt the hard strings by then",
        "train_hard_ce_at_first",
        CE,
        at_least=1.0,
        paper="decays slowly, with a long tail",
        source=FIGURE_2,
    ),
    greater(
        f"{name_of(E2_WARM_UP)} has a smaller gap in accuracy between easy and hard training",
        "mean_accuracy_gap",
        CE,
        E2_WARM_UP,
        paper="far smaller loss, no number",
        source=FIGURE_4,
    ),
    greater(
        f"{name_of(E2)} learns the easy strings more slowly at first (both without warm-up)",
        "train_easy_accuracy_at_first",
        CE,
        E2,
        paper="far slower, no number",
        source=FIGURE_4,
    ),
    *(
        greater(
            f"{name_of(above)} copies where the padding says another letter, more than "
            f"{name_of(below)}",
            "swap_copies",
            above,
            below,
            paper="not measured",
            source=SECTION,
        )
        for above, below in ((CE_WARM_UP, CE), (E2_WARM_UP, CE_WARM_UP))
    ),
]
