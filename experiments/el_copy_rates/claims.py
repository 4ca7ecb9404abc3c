"""Claims of Yang et al. (2025) on losses and warm-up, at the ends of a range of learning rates.

A bound is the paper's number where it gives one. E2's 1.00 leaves room for a hundredth, and E1's
bound is Table 3's number at λ = 4, the strength the paper chose.
"""

import pandas as pd

from experiments.el_copy_rates.settings import (
    CE,
    E_LOSSES,
    LONGER,
    NONE,
    WARM,
    named,
    rates_of,
)
from experiments.harness.claims import (
    Claim,
    change,
    claim_contrast,
    claim_greater,
    claim_level,
    difference,
)
from experiments.harness.tables import settings_with

HARD = "test_precise_hard_accuracy"
FIGURE_4, TABLE_3 = "Yang et al. 2025, Figure 4", "Yang et al. 2025, Table 3"
OURS = "not in the paper"
E1, E2, E3 = E_LOSSES
REACHED = {E1: (0.78, TABLE_3, "0.780"), E2: (0.99, FIGURE_4, "1.00")}


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv; of one rate alone, those that few seeds can decide."""
    rates = rates_of(results)
    low, high = rates[0], rates[-1]
    if low == high:
        return [*_shortcut(results, low), *_quick(results, low)]
    return [
        *_shortcut(results, high),
        _warm_up_alone(results, high),
        *_losses(results, high),
        *_reached(results, low),
        *_reached(results, high),
        _cross_entropy_fits(results, low),
        _warm_up_alone(results, low),
        *_losses(results, low),
        _only_at_high_rates(results, low, high),
        *_not_for_want_of_updates(results, high),
    ]


def _shortcut(results: pd.DataFrame, rate: float) -> list[Claim]:
    where = f"(η = {rate:g})"
    return [
        claim_level(
            results, named(CE, rate, NONE), "test_precise_easy_accuracy", at_least=0.99,
            text=f"Cross-entropy answers unseen easy strings {where}",
            source=FIGURE_4, paper_value="not even all of them",
        ),
        claim_level(
            results, named(CE, rate, NONE), HARD, at_most=0.4,
            text=f"Cross-entropy does not copy unseen hard strings {where}",
            source=FIGURE_4, paper_value="about 0.3 (said of easy strings)",
        ),
    ]  # fmt: skip


def _quick(results: pd.DataFrame, rate: float) -> list[Claim]:
    where = f"(η = {rate:g})"
    return [
        claim_contrast(
            results, HARD,
            difference(
                [named(CE, rate, WARM), named(E2, rate, WARM)],
                [named(CE, rate, NONE), named(E2, rate, NONE)],
            ),
            text=f"Warm-up makes both losses copy better {where}",
            source=TABLE_3, paper_value="0.780 against 0.593 (E1 λ=4); cross-entropy slightly",
        ),
        claim_level(
            results, named(E2, rate, NONE), HARD, at_most=0.4,
            text=f"{E2} without warm-up does not copy them {where}",
            source=TABLE_3, paper_value="0.08 (E1 λ=2)",
        ),
        claim_level(
            results, named(E2, rate, WARM), HARD, at_least=0.78,
            text=f"{E2} with warm-up copies them as well as the paper's E1 {where}",
            source=TABLE_3, paper_value="0.780 (E1 λ=4)",
        ),
    ]  # fmt: skip


def _warm_up_alone(results: pd.DataFrame, rate: float) -> Claim:
    return claim_level(
        results, named(CE, rate, WARM), HARD, at_most=0.4,
        text=f"Warm-up alone does not make cross-entropy copy (η = {rate:g})",
        source=TABLE_3, paper_value="0.246",
    )  # fmt: skip


def _cross_entropy_fits(results: pd.DataFrame, rate: float) -> Claim:
    return claim_level(
        results, named(CE, rate, NONE), "train_hard_accuracy", at_least=0.99,
        text=f"Cross-entropy fits the hard training strings (η = {rate:g})",
        source=FIGURE_4, paper_value="1.00",
    )  # fmt: skip


def _losses(results: pd.DataFrame, rate: float) -> list[Claim]:
    """The gain of each loss over warm-up alone, and of warm-up over each loss alone."""
    where = f"(η = {rate:g})"
    added = [
        claim_greater(
            results, HARD, named(loss, rate, WARM), named(CE, rate, WARM),
            text=f"{loss} adds to warm-up {where}",
            source=TABLE_3 if loss == E1 else FIGURE_4,
            paper_value="0.780 against 0.246" if loss == E1 else "no number for warm-up alone",
        )
        for loss in E_LOSSES
    ]  # fmt: skip
    return added + [
        claim_greater(
            results, HARD, named(loss, rate, WARM), named(loss, rate, NONE),
            text=f"{loss} gains from warm-up {where}",
            source=TABLE_3, paper_value="0.780 against 0.593 (E1 λ=4)" if loss == E1 else "",
        )
        for loss in E_LOSSES
    ]  # fmt: skip


def _reached(results: pd.DataFrame, rate: float) -> list[Claim]:
    return [
        claim_level(
            results, named(loss, rate, WARM), HARD, at_least=bound,
            text=f"{loss} with warm-up reaches {value} (η = {rate:g})",
            source=source, paper_value=value,
        )
        for loss, (bound, source, value) in REACHED.items()
    ]  # fmt: skip


def _only_at_high_rates(results: pd.DataFrame, low: float, high: float) -> Claim:
    at_high, at_low = (
        difference([named(E2, rate, WARM)], [named(CE, rate, WARM)]) for rate in (high, low)
    )
    return claim_contrast(
        results, HARD, change(at_high, at_low),
        text=f"{E2} adds more to warm-up at η = {high:g} than at {low:g}",
        source=OURS, paper_value="",
    )  # fmt: skip


def _not_for_want_of_updates(results: pd.DataFrame, rate: float) -> list[Claim]:
    longer = [f"{named(loss, rate, WARM)}{LONGER}" for loss in (E2, CE)]
    if longer[0] not in settings_with(results, HARD):
        return []
    return [
        claim_greater(
            results, HARD, *longer,
            text=f"{E2} still adds to warm-up with four times the updates (η = {rate:g})",
            source=OURS, paper_value="",
        )
    ]  # fmt: skip
