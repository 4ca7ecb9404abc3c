"""Claims of Noroozizadeh et al. (2025) on a memorised star, and claims on E-losses.

They claim that next-token training stores edges geometrically although a lookup would do, and that
held-out paths are right because of it. We ask: does a loss that bounds margins change which of the
two is stored?

Unless cross-entropy recalls the edges of the tiny star, E-losses are not judged on it. On the wide
star no E-loss recalls them within these updates, so nothing is claimed about E-losses there.
"""

from typing import Any

from experiments.el_star_in_weights import run
from experiments.harness.claims import greater, level
from experiments.harness.judging import Claim, if_open
from experiments.harness.names import name_of
from experiments.harness.tables import Where

LOOKS = {"cpu": 2}  # at the first look, with 5 seeds, two of six were undecided
PAPER, OURS = "Noroozizadeh et al. 2025", "not in the papers"
ALL, MOST = 0.99, 0.5

TINY, WIDE, SLOW = "tiny star", "wide star", "wide star, slow"
STARS: dict[str, dict[str, Any]] = {
    TINY: {"star": "tiny", "peak_lr": 0.01},
    WIDE: {"star": "wide", "peak_lr": 0.01},
    SLOW: {"star": "wide", "peak_lr": 0.003},
}
SIZES = {"tiny": (4, 5), "wide": (64, 4)}  # arms; nodes of an arm
CE: dict[str, Any] = {"loss": "cross_entropy"}
PLAIN, FROZEN = {"optimizer": "adamw", "untold": 0}, {"optimizer": run.FROZEN}

RECALLED = "edges_recalled"  # share of edges whose answer is among the largest logits
SPECTRAL = "spectral_share"
HELD_OUT = "test_exact_match"  # on the paths of held-out arms


def on(star: str, warm_up: int) -> dict[str, Any]:
    """The runs on a star with this much warm-up, without controls."""
    return STARS[star] | {"warmup_steps": warm_up} | PLAIN


def e_losses(star: str) -> tuple[dict[str, Any], ...]:
    """The E-losses that are trained on a star."""
    e2 = {"loss": "e2", "lam": run.E2_LAM[STARS[star]["star"]]}
    return {"loss": "e1", "lam": 1.0}, e2, {"loss": "e3", "b": 1.0}


def spectral_chance(star: str) -> float:
    """The mean share for a table whose rows are assigned to nodes at random, (d - 1) / (n - 1)."""
    degree, length = SIZES[STARS[star]["star"]]
    return (degree - 1) / (degree * (length - 1))


def path_chance(star: str) -> float:
    """Exact match of a model that looks up edges and guesses the branch, 1/d."""
    return 1 / SIZES[STARS[star]["star"]][0]


def _recalls(where: Where) -> Claim:
    """A gate: the edges are recalled."""
    return level("gate", RECALLED, where, at_least=ALL)


def _on_the_tiny_star(warm_up: int) -> list[Claim]:
    """The paper's map, and whether E-losses that recall the edges are more map-like."""
    plain, warm = CE | on(TINY, 0), on(TINY, warm_up)
    of_losses = [
        greater(
            f"tiny star: {name_of(loss)} has more of the graph's slowest eigenvectors in its table "
            "than cross-entropy, both with warm-up",
            SPECTRAL,
            loss | warm,
            CE | warm,
            source=OURS,
        )
        for loss in e_losses(TINY)
    ]
    return [
        level(
            "tiny star: its table is a map: twice the share in the slowest eigenvectors that "
            f"rows at random have, {spectral_chance(TINY):.3f}",
            SPECTRAL,
            plain,
            at_least=2 * spectral_chance(TINY),
            source=PAPER,
            paper="spectral bias",
        ),
        *if_open(_recalls(plain), of_losses),
    ]


def _on_the_wide_star(warm_up: int) -> list[Claim]:
    warm = CE | on(WIDE, warm_up)
    return [
        level(
            "wide star: cross-entropy finds most held-out paths (a guess of the arm: "
            f"{path_chance(WIDE):.3f})",
            HELD_OUT,
            CE | on(WIDE, 0),
            at_least=MOST,
            source=PAPER,
            paper="solved, on larger stars",
        ),
        greater(
            "wide star: a table that learns finds more held-out paths than a frozen one",
            HELD_OUT,
            warm,
            warm | FROZEN,
            source=PAPER,
            paper="frozen embeddings fail",
        ),
    ]


CLAIMS = {
    scale: [*_on_the_tiny_star(steps), *_on_the_wide_star(steps)]
    for scale, steps in run.WARM_UP.items()
}
