"""Claims on two decoders' accuracy on held-out contexts, and on where E-losses lead."""

from typing import Any

from experiments.harness.claims import greater, level

HELD_OUT, COSINE, DISTANCE = "held_out", "cosine", "distance"
MATTERS = 0.05


def at(mechanism: str, ratio: float, decoder: str) -> dict[str, Any]:
    """A decoder at a ratio of dimensions to contexts."""
    return {"mechanism": mechanism, "ratio": ratio, "decoder": decoder}


def _better(text: str, mechanism: str, ratio: float, better: str, worse: str) -> Any:
    best, other = (at(mechanism, ratio, decoder) for decoder in (better, worse))
    return greater(text, HELD_OUT, best, other, by=MATTERS)


CLAIMS = [
    level(
        "With twice as many dimensions as contexts gradient descent on E1 comes to equal margins "
        "(relative distance of W)",
        DISTANCE,
        at("own margins", 2.0, "E1"),
        at_most=0.01,
    ),
    _better(
        "Where the mechanism gives one margin, and with half as many dimensions, equal margins "
        "leave the shortcut more often than the max margin",
        *("same margin", 0.5, "equal margins", "max margin"),
    ),
    _better(
        "So does E1 by gradient descent",
        *("same margin", 0.5, "E1", "max margin"),
    ),
    greater(
        "With four times as many dimensions as contexts the lead of equal margins is less than a "
        "twentieth",
        HELD_OUT,
        at("same margin", 4.0, "max margin"),
        at("same margin", 4.0, "equal margins"),
        by=-MATTERS,
    ),
    _better(
        "Where each context has a margin of its own, with 1.1 times as many dimensions, the max "
        "margin is right more often",
        *("own margins", 1.1, "max margin", "equal margins"),
    ),
    level(
        "With sixteen times as many dimensions both are one direction (cosine)",
        COSINE,
        at("own margins", 16.0, "equal margins"),
        at_least=0.99,
    ),
]
