"""Claims on which objectives find the arm of a path-star graph in longer training."""

from typing import Any

from experiments.el_path_star.claims import (
    CE,
    E1,
    EXACT_MATCH,
    HEADS,
    NEAR,
    SOURCE,
    chance,
    most_find,
    on,
)
from experiments.el_path_star.run import WARM_UP
from experiments.el_star_time.run import CURRICULUM, GRAPH
from experiments.harness.claims import greater, level

LOOKS = {"cpu": 2}  # at the first look, with 5 seeds, two of five were undecided


def at(warm_up: int) -> dict[str, dict[str, Any]]:
    """The runs of each objective, with this much warm-up."""
    return {
        "cross-entropy": on(GRAPH, warm_up) | CE | {"curriculum": None},
        "E1 λ=1": on(GRAPH, warm_up) | E1,
        "multi-token heads": on(GRAPH, warm_up, "multi-token heads"),
        "masked diffusion": on(GRAPH, warm_up) | CE | {"teacher": "diffusion"},
        "belief-state pairs": on(GRAPH, warm_up) | CE | {"future": "belief_state"},
        "curriculum": on(GRAPH, warm_up) | CE | {"curriculum": CURRICULUM},
    }


AT = at(WARM_UP["cpu"])
CLAIMS = [
    most_find("Multi-token heads: most runs find the arm", AT["multi-token heads"], **HEADS),
    most_find(
        "Masked diffusion: most runs find the arm",
        AT["masked diffusion"],
        paper="all, from exponentially fewer graphs",
        source="arXiv 2602.19980",
    ),
    most_find(
        "Belief-state pairs: most runs find the arm",
        AT["belief-state pairs"],
        paper="98.9 of 50 on G(2,10)",
        source=HEADS["source"],
    ),
    most_find(
        "Cross-entropy with a curriculum: most runs find the arm",
        AT["curriculum"],
        paper="all",
        source="arXiv 2602.19980",
    ),
    level(
        f"Cross-entropy stays at 1/d = {chance(GRAPH):g}",
        EXACT_MATCH,
        AT["cross-entropy"],
        at_most=chance(GRAPH) + NEAR,
    ),
    greater(
        "E1 with warm-up is right more often than cross-entropy with it",
        EXACT_MATCH,
        AT["E1 λ=1"],
        AT["cross-entropy"],
        paper=".117 against .001",
        source=SOURCE,
    ),
    greater(
        "Multi-token heads are right more often than E1 with warm-up",
        EXACT_MATCH,
        AT["multi-token heads"],
        AT["E1 λ=1"],
    ),
]
