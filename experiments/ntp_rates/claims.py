"""Sharp forms of the limits of Thrampoulidis (2024), and the effect of normalised descent.

The paper proves limits without rates. The predictions are derived in the README; a bounded
product must grow by less than 5 % over the last decade, where one power of a logarithm too many
would make it grow by 22 % (gradient descent) or 9 % (flow).
"""

from collections.abc import Iterator
from functools import partial

from experiments.harness.claims import greater, level
from experiments.harness.judging import Claim
from experiments.harness.tables import Where
from experiments.ntp_rates.run import FLOW, GD, ONE_HOT_NGD, SPLIT, STALLING

DERIVED = "our prediction, not in the paper"
LIMIT = "Thrampoulidis 2024, Theorem 2, gives the limit without a rate"
_derived, _limit = partial(level, source=DERIVED), partial(level, source=LIMIT)
FLOORS = {
    "gradient_ratio_error": "‖∇CE‖ tends to η λ_F / 2",
    "finite_ratio_error": "‖P_F W - W*‖ tends to η / 2",
    "loss_ratio_error": "CE - H tends to λ_F η² / 8",
}


def _asymptotics(where: Where, name: str) -> Iterator[Claim]:
    slope = "slope in logarithms over the last 1.5 decades against -1"
    text = f"η k (CE - H) tends to ‖W_mm‖² ({name}; relative difference at the end)"
    yield _derived(text, "loss_constant_error", where, at_most=0.05, paper="CE tends to H")
    text = f"CE - H falls as 1/k ({name}; {slope})"
    yield _derived(text, "loss_slope_error", where, at_most=0.05, paper="CE tends to H")
    text = f"‖P_F W - W*‖ falls as 1/k ({name}; {slope})"
    yield _limit(text, "finite_slope_error", where, at_most=0.1, paper="tends to 0")
    text = (
        f"‖P_⊥W‖ grows as ‖W_mm‖ log k ({name}; slope over the last 3 decades, over "
        "‖W_mm‖, against 1)"
    )
    yield _limit(text, "growth_slope_error", where, at_most=0.05, paper="diverges")
    text, metric = "(1 - cos) log² k is bounded", "direction_product_over_decade"
    text += f" ({name}; growth over the last decade)"
    yield _limit(text, metric, where, at_most=1.05, paper="1 - cos tends to 0")
    text = f"(1 - margin/γ) log k is bounded ({name}; growth over the last decade)"
    yield _limit(text, "margin_product_over_decade", where, at_most=1.05, paper="tends to 0")
    text = f"‖∇CE‖ / G certifies γ within 1 %, long before the margin does ({name})"
    yield _derived(text, "certificate_gap", where, at_most=0.01, paper="none")


def _dual() -> Claim:
    text = (
        "η k times the residuals of gradient descent tends to the dual solution of the "
        "max-margin problem (relative distance at the end)"
    )
    return _derived(text, "dual_error", GD, at_most=0.1, paper="none")


def _floor(where: Where) -> Iterator[Claim]:
    for metric, floor in FLOORS.items():
        text = (
            f"Normalised descent with step size {where['step_size']:g} stalls: {floor} (relative "
            "difference at the end)"
        )
        words = "none: NGD is run for 10,000 steps"
        yield _derived(text, metric, where, at_most=0.1, paper=words)


def _no_floor() -> Iterator[Claim]:
    text = (
        "With one next token a context normalised descent does not stall (log of the "
        "leaked mass after 10,000 steps)"
    )
    yield _derived(text, "log_leaked_mass", ONE_HOT_NGD, at_most=-100.0, paper="none")
    text = "... and its margin approaches γ as 1/k (slope over the last decade against -1)"
    yield _derived(text, "margin_slope_error", ONE_HOT_NGD, at_most=0.15, paper="none")
    text = (
        "Split NGD brings that rate back for supports of 3 tokens (slope over the last "
        "decade against -1)"
    )
    yield _derived(text, "margin_slope_error", SPLIT, at_most=0.15, paper="none")
    text = (
        "Plain normalised descent with the same step size is left behind: its margin is "
        "further from γ after 32 times the steps"
    )
    yield greater(text, "margin_gap", STALLING[0], SPLIT, by=0.1, paper="none", source=DERIVED)


CLAIMS = [
    *_asymptotics(GD, "gradient descent"),
    *_asymptotics(FLOW, "gradient flow"),
    _dual(),
    *(claim for where in STALLING for claim in _floor(where)),
    *_no_floor(),
]
