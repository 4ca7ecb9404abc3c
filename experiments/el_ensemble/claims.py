"""Claims on what an ensemble of all networks of a data set copies, with and without decay."""

from typing import Any

from experiments.el_ensemble.run import METHODS, NETWORKS
from experiments.harness.claims import contrast, greater, level

COPIES, GAIN, HARD_CE = "ensemble_copies", "gain", "ensemble_hard_ce"
PLAIN, DECAY = METHODS
SOURCE = "Kim et al. 2025, arXiv 2509.14786"


def at(method: str, networks: int = NETWORKS) -> dict[str, Any]:
    """Ensembles of a method."""
    return {"method": method, "networks": networks}


CLAIMS = [
    level(
        f"Cross-entropy: {NETWORKS} networks together copy more than one of them on average",
        GAIN,
        at(PLAIN),
        at_least=0.0,
        matters=0.05,
    ),
    level(f"Heavy decay: {NETWORKS} do, too", GAIN, at(DECAY), at_least=0.0, matters=0.05),
    greater(
        f"One network with heavy decay copies more than {NETWORKS} without",
        COPIES,
        at(DECAY, 1),
        at(PLAIN),
    ),
    greater(
        "Of ensembles, too, that with heavy decay copies more",
        COPIES,
        at(DECAY),
        at(PLAIN),
        paper="tuned decay and ensembles together use data best",
        source=SOURCE,
    ),
    greater(
        f"Cross-entropy: on unseen hard strings {NETWORKS} networks have .25 nats less than one",
        HARD_CE,
        at(PLAIN, 1),
        at(PLAIN),
        by=0.25,
    ),
    contrast(
        "Four of them take off more than three quarters of that (A / K + E: .86)",
        HARD_CE,
        [(0.25, at(PLAIN, 1)), (-1, at(PLAIN, 4)), (0.75, at(PLAIN))],
        paper=".25 / K^1.02 + 3.34 nats",
        source=SOURCE,
    ),
]
