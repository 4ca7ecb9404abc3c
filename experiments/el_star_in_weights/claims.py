"""Claims of Noroozizadeh et al. (2025) on a star that is learnt by heart, and of E-losses on it.

Their claim is that next-token training stores edges geometrically though a lookup would do, and
that held-out paths come out right because of it. Ours is a question: does a loss that bounds
margins change which of both is stored?

The gate of a star: cross-entropy recalls its edges, and on the wide one also finds held-out paths.
Where it is closed, E-losses are not judged, since there is no solution to compare with. No claim of
a loss is read as one of geometry unless that loss recalls the edges, which is a claim of its own.
"""

import dataclasses
import math

import pandas as pd

from experiments.el_star_in_weights.settings import (
    CE,
    E_LOSSES,
    EDGE_ACCURACY,
    EDGE_CE,
    FROZEN,
    HELD_OUT,
    RECALLED,
    SAME_ARM,
    SLOW,
    SPECTRAL,
    TINY,
    UNTOLD,
    WARM,
    WIDE,
    control,
    named,
    path_chance,
    spectral_chance,
)
from experiments.harness.claims import Claim, Verdict, claim_greater, claim_level

PAPER, NOTEBOOK = "Noroozizadeh et al. 2025", "Noroozizadeh et al. 2025, tiny_transformer.ipynb"
LOOKUP = "Noroozizadeh et al. 2025, tiny_associative.ipynb"
OURS = "not in the papers"
ALL, MOST = 0.99, 0.5
FLOOR = 24 / 32 * math.log(2) + 4 / 32 * math.log(4)  # nats: of 32 questions, 24 have two answers


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    return [
        *_on_the_tiny_star(results),
        *_on_the_wide_star(results),
        *_at_the_slow_rate(results),
    ]


def _on_the_tiny_star(results: pd.DataFrame) -> list[Claim]:
    plain = named(TINY, CE)
    gate = _recalls(results, plain, NOTEBOOK, "100 %")
    return [
        gate,
        claim_level(
            results, plain, EDGE_CE, at_most=FLOOR + 0.01,
            text=f"tiny star: ... at a loss within .01 of the least, {FLOOR:.3f} nats",
            source=NOTEBOOK, paper_value=".696",
        ),
        claim_level(
            results, plain, EDGE_ACCURACY, at_least=0.53,
            text="tiny star: ... and names one answer of each node, 17 of 32 questions",
            source=NOTEBOOK, paper_value=".531",
        ),
        claim_level(
            results, plain, SPECTRAL, at_least=2 * spectral_chance(TINY),
            text="tiny star: its table is a map: twice the share in the slowest eigenvectors that "
            f"rows at random have, {spectral_chance(TINY):.3f}",
            source=PAPER, paper_value="spectral bias",
        ),
        claim_level(
            results, plain, SAME_ARM, at_least=0.1,
            text="tiny star: nodes of an arm that no edge joins are closer than those of two arms",
            source=PAPER, paper_value="arms cluster",
        ),
        _recalls(results, control(TINY, FROZEN), LOOKUP, "100 %"),
        *_if_open(gate, _of_losses(results, TINY, with_paths=False)),
    ]  # fmt: skip


def _on_the_wide_star(results: pd.DataFrame) -> list[Claim]:
    plain = named(WIDE, CE)
    recalls = _recalls(results, plain, PAPER, "100 %")
    finds = claim_level(
        results, plain, HELD_OUT, at_least=MOST,
        text="wide star: cross-entropy finds most held-out paths (a guess of the arm: "
        f"{path_chance(WIDE):.3f})",
        source=PAPER, paper_value="solved, on larger stars",
    )  # fmt: skip
    warm = named(WIDE, CE, WARM)
    controls = [
        claim_level(
            results, control(WIDE, UNTOLD), HELD_OUT, at_most=0.1,
            text="wide star: held-out paths whose edges are untold are not found",
            source=OURS, paper_value="",
        ),
        _recalls(results, control(WIDE, FROZEN), PAPER, "100 %"),
        claim_greater(
            results, HELD_OUT, warm, control(WIDE, FROZEN),
            text="wide star: a table that learns finds more held-out paths than a frozen one",
            source=PAPER, paper_value="frozen embeddings fail",
        ),
    ]  # fmt: skip
    judged = _if_open(recalls, _if_open(finds, controls + _of_losses(results, WIDE)))
    return [recalls, finds, *judged]


def _at_the_slow_rate(results: pd.DataFrame) -> list[Claim]:
    warm = named(SLOW, CE, WARM)
    gate = _recalls(results, warm, OURS, "")
    rate = claim_greater(
        results, HELD_OUT, named(WIDE, CE, WARM), warm, by=0.1,
        text="wide star: at .003 cross-entropy finds fewer held-out paths than at .01, by .1",
        source=OURS, paper_value="",
    )  # fmt: skip
    return [gate, *_if_open(gate, [rate, *_of_losses(results, SLOW)])]


def _of_losses(results: pd.DataFrame, star: str, *, with_paths: bool = True) -> list[Claim]:
    """E-losses against cross-entropy, all with warm-up; and warm-up itself."""
    found = []
    metrics = [SPECTRAL, *([HELD_OUT] if with_paths else [])]
    for loss in E_LOSSES[star]:
        found.append(_recalls(results, named(star, loss, WARM), OURS, ""))
        found += [
            claim_greater(
                results, metric, named(star, loss, WARM), named(star, CE, WARM),
                text=f"{star}: {loss} with warm-up has more of the {WORDS[metric]} than "
                "cross-entropy with warm-up",
                source=OURS, paper_value="",
            )
            for metric in metrics
        ]  # fmt: skip
    return found + [
        claim_greater(
            results, metric, named(star, CE, WARM), named(star, CE),
            text=f"{star}: warm-up alone has more of the {WORDS[metric]}",
            source=OURS, paper_value="",
        )
        for metric in metrics
    ]  # fmt: skip


WORDS = {
    SPECTRAL: "graph's slowest eigenvectors in its table",
    HELD_OUT: "held-out paths right",
}


def _recalls(results: pd.DataFrame, setting: str, source: str, paper_value: str) -> Claim:
    return claim_level(
        results, setting, RECALLED, at_least=ALL,
        text=f"{setting}: recalls the edges", source=source, paper_value=paper_value,
    )  # fmt: skip


def _if_open(gate: Claim, further: list[Claim]) -> list[Claim]:
    """Claims as they are if the gate holds, else without a verdict."""
    if gate.verdict is Verdict.HOLDS:
        return further
    return [_not_judged(claim) for claim in further]


def _not_judged(claim: Claim) -> Claim:
    detail = f"not judged, the gate is closed; {claim.detail}"
    return dataclasses.replace(claim, verdict=Verdict.INCONCLUSIVE, detail=detail, p=math.nan)
