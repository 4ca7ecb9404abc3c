"""Claims of Yang et al. (2025), Table 1, and of those who solved path-star graphs before.

In Table 1 cross-entropy is below 1/d, the exact match of a model that looks up edges and guesses
the arm: .289 against .5, and .001 against .2. A run that has not reached 1/d says nothing about a
loss. So there is a gate: unless cross-entropy comes within .05 of 1/d, nothing is judged on that
graph.

Each seed either finds the arm or does not, so a mean says little: the control is judged by Wilson's
interval for the share of seeds that do.
"""

from typing import Any

import pandas as pd
import scipy.stats

from experiments.el_path_star.run import CONTROLS, GRAPHS, WARM_UP
from experiments.harness.claims import greater, level
from experiments.harness.judging import Claim, Outcome, if_open, verdict_of
from experiments.harness.statistics import wilson_interval
from experiments.harness.tables import Where, values_of

EXACT_MATCH = "test_exact_match"
SOURCE, PITFALLS = "Yang et al. 2025, Table 1", "Bachmann and Nagarajan 2024, Table 5"
NEAR = 0.05  # distance from 1/d within which a level counts as 1/d
ABOVE_CHANCE = 0.1  # by which the exact match of a seed that found the arm exceeds 1/d
TABLE_1 = {"G(2,3)": (".289", ".655"), "G(5,3)": (".001", ".117")}
HEADS = {
    "paper": "66.2 of 50 on G(2,10)",
    "source": "Teoh et al. 2025, arXiv 2511.05963, Figure 6",
}
PLAIN: dict[str, Any] = {"order": "forward", "teacher": "forced", "future": None}
CE = {"loss": "cross_entropy"}
E1 = {"loss": "e1", "lam": 1.0}  # the paper's λ of Table 1
E1_WEAK, E2, E3 = {"loss": "e1", "lam": 0.25}, {"loss": "e2", "lam": 2.0}, {"loss": "e3", "b": 1.0}
SMOOTHED = {"loss": "label_smoothing", "smoothing": 0.1}


def on(graph: str, warm_up: int, control: str = "") -> dict[str, Any]:
    """The runs on a graph with this much warm-up; those of a control if one is named."""
    degree, length = GRAPHS[graph]
    task = {"degree": degree, "path_length": length, "warmup_steps": warm_up}
    return PLAIN | task | (CE | CONTROLS[control] if control else {})


def chance(graph: str) -> float:
    """Exact match of a model that looks up edges and guesses the arm, 1/d."""
    return 1 / GRAPHS[graph][0]


def share_found(results: pd.DataFrame, where: Where) -> tuple[float, int]:
    """The share of seeds that exceed 1/d by more than ``ABOVE_CHANCE``, and the number of seeds."""
    values = values_of(results, where, EXACT_MATCH)
    return float((values > 1 / where["degree"] + ABOVE_CHANCE).mean()), len(values)


def most_find(text: str, where: Where, *, paper: str, source: str) -> Claim:
    """More than half of the seeds find the arm: a sign test, with Wilson's interval."""

    def judge(results: pd.DataFrame) -> Outcome:
        share, num = share_found(results, where)
        low, high = wilson_interval(share, num)
        return Outcome(
            f"share {share:.2f}, 95% Wilson interval [{low:.2f}, {high:.2f}]",
            f"{round(share * num)} of {num} seeds",
            verdict_of(holds=low > 0.5, fails=high < 0.5),
            float(scipy.stats.binomtest(round(share * num), num).pvalue),
        )

    return Claim(text, judge, paper=paper, source=source, needs=[(where, EXACT_MATCH)])


def _on(graph: str, warm_up: int) -> list[Claim]:
    plain, e1 = on(graph, 0) | CE, on(graph, warm_up) | E1
    of_plain, of_e1 = TABLE_1[graph]
    gate = level("gate", EXACT_MATCH, plain, at_least=chance(graph) - NEAR)
    return if_open(
        gate,
        [
            level(
                f"{graph}: cross-entropy comes no further than 1/d = {chance(graph):g}",
                EXACT_MATCH,
                plain,
                at_most=chance(graph) + NEAR,
                paper="1/d",
                source=PITFALLS,
            ),
            level(
                f"{graph}: E1 with warm-up is above 1/d",
                EXACT_MATCH,
                e1,
                at_least=chance(graph) + NEAR,
                paper=of_e1,
                source=SOURCE,
            ),
            greater(
                f"{graph}: E1 with warm-up is right more often than cross-entropy",
                EXACT_MATCH,
                e1,
                plain,
                paper=f"{of_e1} against {of_plain}",
                source=SOURCE,
            ),
            most_find(
                f"{graph}: with multi-token heads most seeds find the arm",
                on(graph, warm_up, "multi-token heads"),
                **HEADS,
            ),
        ],
    )


CLAIMS = {
    scale: [claim for graph in GRAPHS for claim in _on(graph, warm_up)]
    for scale, warm_up in WARM_UP.items()
}
