"""Claims of Yang et al. (2025), Table 1, and of those who solved path-star graphs before.

Cross-entropy of Table 1 lies below 1/d, the exact match of a model that looks edges up and guesses
the arm: .289 of .5 and .001 of .2. A training that has not come so far says nothing of a loss. So
the first claim on a graph is a gate: unless it holds, the others on that graph are not judged.

Seeds either find the arm or do not, so that a mean says little: controls are judged by Wilson's
interval of the share of seeds that did.
"""

import dataclasses
import math

import pandas as pd

from experiments.el_path_star.settings import (
    CE,
    CE_WARM_UP,
    CONTROLS,
    E1,
    E1_WARM_UP,
    E1_WEAK_WARM_UP,
    E2_WARM_UP,
    E3_WARM_UP,
    EXACT_MATCH,
    GRAPHS,
    MASKED,
    SMOOTHED,
    chance,
    named,
    share_found,
)
from experiments.harness.claims import Claim, Verdict, claim_greater, claim_level, judge
from experiments.harness.statistics import wilson_interval

SOURCE = "Yang et al. 2025, Table 1"
PITFALLS, OURS = "Bachmann and Nagarajan 2024, Table 5", "not in the paper"
NEAR = 0.05  # of 1/d, for a level that counts as 1/d
TABLE_1 = {"G(2,3)": (".289", ".655"), "G(5,3)": (".001", ".117")}
REPORTED = {
    "reversed path": ("Bachmann and Nagarajan 2024", "solved"),
    "no teacher": ("Bachmann and Nagarajan 2024", "solved by some models"),
    MASKED: ("Frydenlund 2025, arXiv 2503.10542", "solved"),
    "multi-token heads": ("Teoh et al. 2025, arXiv 2511.05963, Figure 6", "66.2 of 50 on G(2,10)"),
    "bag of future tokens": ("arXiv 2510.14751", "solved"),
    "token order": ("Zuhri et al. 2025, arXiv 2508.19228", "solved"),
    "next latent": ("Teoh et al. 2025, arXiv 2511.05963, Figure 6", "97.1 on G(2,10)"),
}


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    return [claim for graph in GRAPHS for claim in _on(results, graph)]


def _on(results: pd.DataFrame, graph: str) -> list[Claim]:
    gate = claim_level(
        results, named(CE, graph), EXACT_MATCH, at_least=chance(graph) - NEAR,
        text=f"{graph}: cross-entropy reaches 1/d = {chance(graph):g} (the gate; within {NEAR})",
        source=SOURCE, paper_value=TABLE_1[graph][0],
    )  # fmt: skip
    further = [
        claim_level(
            results, named(CE, graph), EXACT_MATCH, at_most=chance(graph) + NEAR,
            text=f"{graph}: and comes no further", source=PITFALLS, paper_value="1/d",
        ),
        *_equal_learning(results, graph),
        *(_control(results, graph, control) for control in CONTROLS),
    ]  # fmt: skip
    return [gate, *(claim if _is_open(gate) else _not_judged(claim) for claim in further)]


def _equal_learning(results: pd.DataFrame, graph: str) -> list[Claim]:
    level = chance(graph) + NEAR
    above = [
        claim_level(
            results, named(loss, graph), EXACT_MATCH, at_least=level,
            text=f"{graph}: {loss} is above 1/d",
            source=SOURCE if loss == E1_WARM_UP else OURS,
            paper_value=TABLE_1[graph][1] if loss == E1_WARM_UP else "",
        )
        for loss in (CE_WARM_UP, E1, E1_WARM_UP, E1_WEAK_WARM_UP, E2_WARM_UP, E3_WARM_UP, SMOOTHED)
    ]  # fmt: skip
    pairs = {
        (E1_WARM_UP, CE): "E1 with warm-up is right more often than cross-entropy",
        (E1_WARM_UP, CE_WARM_UP): "... and more often than cross-entropy with warm-up",
        (MASKED, E1_WARM_UP): "Masked tokens do better than E1, by data alone",
    }
    return above + [
        claim_greater(
            results, EXACT_MATCH, named(better, graph), named(worse, graph),
            text=f"{graph}: {text}",
            source=SOURCE if worse == CE else OURS,
            paper_value=" against ".join(reversed(TABLE_1[graph])) if worse == CE else "",
        )
        for (better, worse), text in pairs.items()
    ]  # fmt: skip


def _control(results: pd.DataFrame, graph: str, control: str) -> Claim:
    """More than half of the seeds find the arm, by Wilson's interval of their share."""
    source, paper_value = REPORTED[control]
    claim = Claim(f"{graph}: {control}: most seeds find the arm", source, paper_value, detail="")
    share, num = share_found(results, control, graph)
    if not num:
        missing = f"not measured: {EXACT_MATCH} of {named(control, graph)}"
        return dataclasses.replace(claim, detail=missing)
    low, high = wilson_interval(share, num)
    return dataclasses.replace(
        claim,
        ours=f"{round(share * num)} of {num} seeds",
        verdict=judge(holds=low > 0.5, fails=high < 0.5),
        detail=f"share {share:.2f}, 95% Wilson interval [{low:.2f}, {high:.2f}]",
    )


def _is_open(gate: Claim) -> bool:
    return gate.verdict is Verdict.HOLDS


def _not_judged(claim: Claim) -> Claim:
    """The claim without a verdict: cross-entropy is below 1/d, or was not measured."""
    detail = f"not judged, the gate is closed; {claim.detail}"
    return dataclasses.replace(claim, verdict=Verdict.INCONCLUSIVE, detail=detail, p=math.nan)
