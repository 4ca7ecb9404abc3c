"""Names of the trained settings, their chance, and the seeds that found the arm."""

import pandas as pd

from experiments.harness.tables import values_of

GRAPHS = {"G(2,3)": (2, 3), "G(5,3)": (5, 3)}  # arms; nodes of an arm, the start included
EXACT_MATCH = "test_exact_match"
ABOVE_CHANCE = 0.1  # by which the exact match of a seed that found the arm exceeds 1/d

CE, CE_WARM_UP = "cross-entropy", "cross-entropy, warm-up"
E1, E1_WARM_UP = "E1 λ=1", "E1 λ=1, warm-up"  # the paper's λ of Table 1
E1_WEAK, E1_WEAK_WARM_UP = "E1 λ=0.25", "E1 λ=0.25, warm-up"
E2, E2_WARM_UP = "E2 λ=2", "E2 λ=2, warm-up"
E3, E3_WARM_UP = "E3 b=1", "E3 b=1, warm-up"
SMOOTHED = "label-smoothing ε=0.1, warm-up"
LOSSES = (
    CE,
    CE_WARM_UP,
    E1,
    E1_WARM_UP,
    E1_WEAK,
    E1_WEAK_WARM_UP,
    E2,
    E2_WARM_UP,
    E3,
    E3_WARM_UP,
    SMOOTHED,
)
# changes of what is read or predicted, all under cross-entropy with warm-up
MASKED = "masked tokens"
HEADS = "multi-token heads"
CONTROLS = {  # name -> argument of the config
    "reversed path": "order=reversed",
    "no teacher": "teacher=none",
    MASKED: "teacher=masked",
    HEADS: "future=multi_token",
    "bag of future tokens": "future=bag",
    "token order": "future=token_order",
    "next latent": "future=next_latent",
}


def named(method: str, graph: str) -> str:
    """The name of a setting: a loss or a control on a graph."""
    loss = f"{CE_WARM_UP}, {method}" if method in CONTROLS else method
    return f"{loss}, {graph}"


def chance(graph: str) -> float:
    """Exact match of a model that looks edges up and guesses the arm, 1/d."""
    return 1 / GRAPHS[graph][0]


def share_found(results: pd.DataFrame, method: str, graph: str) -> tuple[float, int]:
    """The share of seeds whose exact match is above 1/d by more than ``ABOVE_CHANCE``.

    Returns:
        The share, NaN if nothing was measured, and the number of seeds.
    """
    values = values_of(results, named(method, graph), EXACT_MATCH)
    return float((values > chance(graph) + ABOVE_CHANCE).mean()), len(values)
