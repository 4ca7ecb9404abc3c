"""Claims of Noroozizadeh et al. (2025) on a star that is learnt by heart, and of E-losses on it.

Their claim is that next-token training stores edges geometrically though a lookup would do, and
that held-out paths come out right because of it. Ours is a question: does a loss that bounds
margins change which of both is stored?

The gate of a star: cross-entropy recalls its edges, and on the wide one also finds held-out paths.
Where it is closed, E-losses are not judged, since there is no solution to compare with. No claim of
a loss is read as one of geometry unless that loss recalls the edges, which is a claim of its own.
"""

import math
from typing import Any

from experiments.el_star_in_weights import run
from experiments.harness.claims import greater, level
from experiments.harness.judging import Claim, if_open
from experiments.harness.names import name_of
from experiments.harness.tables import Where

PAPER, NOTEBOOK = "Noroozizadeh et al. 2025", "Noroozizadeh et al. 2025, tiny_transformer.ipynb"
LOOKUP = "Noroozizadeh et al. 2025, tiny_associative.ipynb"
OURS = "not in the papers"
ALL, MOST = 0.99, 0.5
FLOOR = 24 / 32 * math.log(2) + 4 / 32 * math.log(4)  # nats: of 32 questions, 24 have two answers

TINY, WIDE, SLOW = "tiny star", "wide star", "wide star, slow"
STARS: dict[str, dict[str, Any]] = {
    TINY: {"star": "tiny", "peak_lr": 0.01},
    WIDE: {"star": "wide", "peak_lr": 0.01},
    SLOW: {"star": "wide", "peak_lr": 0.003},
}
SIZES = {"tiny": (4, 5), "wide": (64, 4)}  # arms; nodes of an arm
CE: dict[str, Any] = {"loss": "cross_entropy"}
PLAIN, FROZEN, UNTOLD = (
    {"optimizer": "adamw", "untold": 0},
    {"optimizer": run.FROZEN},
    {"untold": 1},
)

RECALLED = "edges_recalled"  # share of edges whose answer is among the largest logits
SPECTRAL = "spectral_share"
HELD_OUT = "test_exact_match"  # of the paths of held-out arms
WORDS = {
    SPECTRAL: "graph's slowest eigenvectors in its table",
    HELD_OUT: "held-out paths right",
}


def on(star: str, warm_up: int) -> dict[str, Any]:
    """The runs on a star with so many updates of warm-up, controls left out."""
    return STARS[star] | {"warmup_steps": warm_up} | PLAIN


def e_losses(star: str) -> tuple[dict[str, Any], ...]:
    """The E-losses that are trained on a star."""
    e2 = {"loss": "e2", "lam": run.E2_LAM[STARS[star]["star"]]}
    return {"loss": "e1", "lam": 1.0}, e2, {"loss": "e3", "b": 1.0}


def spectral_chance(star: str) -> float:
    """The mean share of a table whose rows are given to the nodes at random, (d - 1) / (n - 1)."""
    degree, length = SIZES[STARS[star]["star"]]
    return (degree - 1) / (degree * (length - 1))


def path_chance(star: str) -> float:
    """Exact match of a model that looks edges up and guesses the branch, 1/d."""
    return 1 / SIZES[STARS[star]["star"]][0]


def _on_the_tiny_star(warm_up: int) -> list[Claim]:
    plain = CE | on(TINY, 0)
    gate = _loss_recalls(TINY, CE, 0, NOTEBOOK, "100 %")
    return [
        gate,
        level(
            f"tiny star: ... at a loss within .01 of the least, {FLOOR:.3f} nats",
            "train_edge_ce",
            plain,
            at_most=FLOOR + 0.01,
            source=NOTEBOOK,
            paper=".696",
        ),
        level(
            "tiny star: ... and names one answer of each node, 17 of 32 questions",
            "train_edge_accuracy",
            plain,
            at_least=0.53,
            source=NOTEBOOK,
            paper=".531",
        ),
        level(
            "tiny star: its table is a map: twice the share in the slowest eigenvectors that "
            f"rows at random have, {spectral_chance(TINY):.3f}",
            SPECTRAL,
            plain,
            at_least=2 * spectral_chance(TINY),
            source=PAPER,
            paper="spectral bias",
        ),
        level(
            "tiny star: nodes of an arm that no edge joins are closer than those of two arms",
            "same_arm_cosine",
            plain,
            at_least=0.1,
            source=PAPER,
            paper="arms cluster",
        ),
        _frozen_recalls(TINY, warm_up, LOOKUP),
        *if_open(gate, _of_losses(TINY, warm_up, SPECTRAL)),
    ]


def _on_the_wide_star(warm_up: int) -> list[Claim]:
    warm = CE | on(WIDE, warm_up)
    recalls = _loss_recalls(WIDE, CE, 0, PAPER, "100 %")
    finds = level(
        "wide star: cross-entropy finds most held-out paths (a guess of the arm: "
        f"{path_chance(WIDE):.3f})",
        HELD_OUT,
        CE | on(WIDE, 0),
        at_least=MOST,
        source=PAPER,
        paper="solved, on larger stars",
    )
    controls = [
        level(
            "wide star: held-out paths whose edges are untold are not found",
            HELD_OUT,
            warm | UNTOLD,
            at_most=0.1,
            source=OURS,
        ),
        _frozen_recalls(WIDE, warm_up, PAPER),
        greater(
            "wide star: a table that learns finds more held-out paths than a frozen one",
            HELD_OUT,
            warm,
            warm | FROZEN,
            source=PAPER,
            paper="frozen embeddings fail",
        ),
    ]
    behind = [*controls, *_of_losses(WIDE, warm_up, SPECTRAL, HELD_OUT)]
    return [recalls, finds, *if_open(recalls, if_open(finds, behind))]


def _at_the_slow_rate(warm_up: int) -> list[Claim]:
    gate = _loss_recalls(SLOW, CE, warm_up)
    rate = greater(
        "wide star: at .003 cross-entropy finds fewer held-out paths than at .01, by .1",
        HELD_OUT,
        CE | on(WIDE, warm_up),
        CE | on(SLOW, warm_up),
        by=0.1,
        source=OURS,
    )
    return [gate, *if_open(gate, [rate, *_of_losses(SLOW, warm_up, SPECTRAL, HELD_OUT)])]


def _of_losses(star: str, warm_up: int, *metrics: str) -> list[Claim]:
    """E-losses against cross-entropy, all with warm-up; and warm-up itself."""
    warm, cold, found = on(star, warm_up), on(star, 0), []
    for loss in e_losses(star):
        found.append(_loss_recalls(star, loss, warm_up))
        found += [
            greater(
                f"{star}: {name_of(loss)} with warm-up has more of the {WORDS[metric]} than "
                "cross-entropy with warm-up",
                metric,
                loss | warm,
                CE | warm,
                source=OURS,
            )
            for metric in metrics
        ]
    return found + [
        greater(
            f"{star}: warm-up alone has more of the {WORDS[metric]}",
            metric,
            CE | warm,
            CE | cold,
            source=OURS,
        )
        for metric in metrics
    ]


def _loss_recalls(
    star: str, loss: dict[str, Any], warm_up: int, source: str = OURS, paper: str = ""
) -> Claim:
    rate = {} if star == TINY else {"peak_lr": STARS[star]["peak_lr"]}
    name = name_of(loss | rate | {"warmup_steps": warm_up})
    return _recalls(f"{name}, {STARS[star]['star']} star", loss | on(star, warm_up), source, paper)


def _frozen_recalls(star: str, warm_up: int, source: str) -> Claim:
    name = f"cross-entropy, warm-up, frozen table, {star}"
    return _recalls(name, CE | on(star, warm_up) | FROZEN, source, "100 %")


def _recalls(name: str, where: Where, source: str, paper: str) -> Claim:
    text = f"{name}: recalls the edges"
    return level(text, RECALLED, where, at_least=ALL, source=source, paper=paper)


CLAIMS = {
    scale: [*_on_the_tiny_star(steps), *_on_the_wide_star(steps), *_at_the_slow_rate(steps)]
    for scale, steps in run.WARM_UP.items()
}
