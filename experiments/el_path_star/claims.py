"""Claims of Yang et al. (2025), Table 1, and of those who solved path-star graphs before.

Cross-entropy of Table 1 lies below 1/d, the exact match of a model that looks edges up and guesses
the arm: .289 of .5 and .001 of .2. A training that has not come so far says nothing of a loss. So
the first claim on a graph is a gate: unless it holds, the others on that graph are not judged.

Seeds either find the arm or do not, so that a mean says little: controls are judged by Wilson's
interval of the share of seeds that did.
"""

from typing import Any

import pandas as pd

from experiments.el_path_star.run import CONTROLS, GRAPHS, WARM_UP
from experiments.harness.claims import greater, level
from experiments.harness.judging import OURS, Claim, Outcome, if_open, verdict_of
from experiments.harness.names import name_of
from experiments.harness.statistics import wilson_interval
from experiments.harness.tables import Where, values_of

EXACT_MATCH = "test_exact_match"
SOURCE, PITFALLS = "Yang et al. 2025, Table 1", "Bachmann and Nagarajan 2024, Table 5"
NEAR = 0.05  # of 1/d, for a level that counts as 1/d
ABOVE_CHANCE = 0.1  # by which the exact match of a seed that found the arm exceeds 1/d
TABLE_1 = {"G(2,3)": (".289", ".655"), "G(5,3)": (".001", ".117")}
REPORTED = {
    "reversed path": ("Bachmann and Nagarajan 2024", "solved"),
    "no teacher": ("Bachmann and Nagarajan 2024", "solved by some models"),
    "masked tokens": ("Frydenlund 2025, arXiv 2503.10542", "solved"),
    "multi-token heads": ("Teoh et al. 2025, arXiv 2511.05963, Figure 6", "66.2 of 50 on G(2,10)"),
    "bag of future tokens": ("arXiv 2510.14751", "solved"),
    "token order": ("Zuhri et al. 2025, arXiv 2508.19228", "solved"),
    "next latent": ("Teoh et al. 2025, arXiv 2511.05963, Figure 6", "97.1 on G(2,10)"),
}
PLAIN: dict[str, Any] = {"order": "forward", "teacher": "forced", "future": None}
CE = {"loss": "cross_entropy"}
E1 = {"loss": "e1", "lam": 1.0}  # the paper's λ of Table 1
E1_WEAK, E2, E3 = {"loss": "e1", "lam": 0.25}, {"loss": "e2", "lam": 2.0}, {"loss": "e3", "b": 1.0}
SMOOTHED = {"loss": "label_smoothing", "smoothing": 0.1}


def on(graph: str, warm_up: int, control: str = "") -> dict[str, Any]:
    """The runs on a graph with so many updates of warm-up, of a control if one is named."""
    degree, length = GRAPHS[graph]
    task = {"degree": degree, "path_length": length, "warmup_steps": warm_up}
    return PLAIN | task | (CE | CONTROLS[control] if control else {})


def chance(graph: str) -> float:
    """Exact match of a model that looks edges up and guesses the arm, 1/d."""
    return 1 / GRAPHS[graph][0]


def share_found(results: pd.DataFrame, where: Where) -> tuple[float, int]:
    """The share of seeds above 1/d by more than ``ABOVE_CHANCE``, and the number of seeds."""
    values = values_of(results, where, EXACT_MATCH)
    return float((values > 1 / where["degree"] + ABOVE_CHANCE).mean()), len(values)


def _control(graph: str, control: str, warm_up: int) -> Claim:
    """More than half of the seeds find the arm, by Wilson's interval of their share."""
    where = on(graph, warm_up, control)

    def judge(results: pd.DataFrame) -> Outcome:
        share, num = share_found(results, where)
        low, high = wilson_interval(share, num)
        return Outcome(
            f"share {share:.2f}, 95% Wilson interval [{low:.2f}, {high:.2f}]",
            f"{round(share * num)} of {num} seeds",
            verdict_of(holds=low > 0.5, fails=high < 0.5),
        )

    source, paper = REPORTED[control]
    text = f"{graph}: {control}: most seeds find the arm"
    return Claim(text, judge, paper, source, [(where, EXACT_MATCH)])


def _equal_learning(graph: str, warm_up: int) -> list[Claim]:
    cold, warm = on(graph, 0), on(graph, warm_up)
    plain, e1 = TABLE_1[graph]
    above: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (CE, warm),
        (E1, cold),
        *((loss, warm) for loss in (E1, E1_WEAK, E2, E3, SMOOTHED)),
    ]
    compared = f"{e1} against {plain}"
    return [
        *(
            level(
                f"{graph}: {name_of(loss | {'warmup_steps': at['warmup_steps']})} is above 1/d",
                EXACT_MATCH,
                at | loss,
                at_least=chance(graph) + NEAR,
                paper=e1 if loss is E1 and at is warm else "",
                source=SOURCE if loss is E1 and at is warm else OURS,
            )
            for loss, at in above
        ),
        greater(
            f"{graph}: E1 with warm-up is right more often than cross-entropy",
            EXACT_MATCH,
            warm | E1,
            cold | CE,
            paper=compared,
            source=SOURCE,
        ),
        greater(
            f"{graph}: ... and more often than cross-entropy with warm-up",
            EXACT_MATCH,
            warm | E1,
            warm | CE,
        ),
        greater(
            f"{graph}: Masked tokens do better than E1, by data alone",
            EXACT_MATCH,
            on(graph, warm_up, "masked tokens"),
            warm | E1,
        ),
    ]


def _on(graph: str, warm_up: int) -> list[Claim]:
    plain = on(graph, 0) | CE
    gate = level(
        f"{graph}: cross-entropy reaches 1/d = {chance(graph):g} (the gate; within {NEAR})",
        EXACT_MATCH,
        plain,
        at_least=chance(graph) - NEAR,
        paper=TABLE_1[graph][0],
        source=SOURCE,
    )
    no_further = level(
        f"{graph}: and comes no further",
        EXACT_MATCH,
        plain,
        at_most=chance(graph) + NEAR,
        paper="1/d",
        source=PITFALLS,
    )
    controls = [_control(graph, control, warm_up) for control in CONTROLS]
    return [gate, *if_open(gate, [no_further, *_equal_learning(graph, warm_up), *controls])]


CLAIMS = {
    scale: [claim for graph in GRAPHS for claim in _on(graph, warm_up)]
    for scale, warm_up in WARM_UP.items()
}
