"""Claims on b, where the time to learn a context of probability π is ~ π^-b, and on final margins.

b = 1: a context is learnt once it has been seen often enough; b = 0: all are learnt at once.
"""

from typing import Any

from experiments.harness.claims import contrast, level, number

TIMES, SPREAD = "exponent", "margin_spread"
SPECTRAL = "Vasudeva et al. 2025 (arXiv 2510.22980)"
YANG = "Yang et al. 2025, section 3"


def at(
    optimizer: str, loss: str = "cross_entropy", data: str = "shared tokens, random"
) -> dict[str, Any]:
    """The runs of an optimizer."""
    return {"data": data, "loss": loss, "optimizer": optimizer}


CLAIMS = [
    number(
        "One-hot contexts with a token each: spectral descent learns all at once, b at most .05",
        TIMES,
        at("spectral descent", data="own tokens, one-hot"),
        at_most=0.05,
        paper="equal rates of all components",
        source=SPECTRAL,
    ),
    level(
        "Where contexts share tokens it does not, also if they are one-hot: b is at least .2",
        TIMES,
        at("spectral descent", data="shared tokens, one-hot"),
        at_least=0.2,
    ),
    contrast(
        "With shared tokens and random embeddings its b is smaller than gradient descent's",
        TIMES,
        [(1, at("gradient descent")), (-1, at("spectral descent"))],
    ),
    contrast(
        "Under gradient descent E1 makes learning times more alike than cross-entropy does",
        TIMES,
        [(1, at("gradient descent")), (-1, at("gradient descent", "e1"))],
        paper="equal learning",
        source=YANG,
    ),
    contrast(
        "Under spectral descent E2 makes learning times more alike than cross-entropy does",
        TIMES,
        [(1, at("spectral descent")), (-1, at("spectral descent", "e2"))],
    ),
    contrast(
        "Under gradient descent E1 makes last margins more alike: a smaller spread over the mean",
        SPREAD,
        [(1, at("gradient descent")), (-1, at("gradient descent", "e1"))],
        paper="uniform margins",
        source=YANG,
    ),
]
