"""Sharp forms of the limits of Thrampoulidis (2024), and the effect of normalised descent.

The paper proves limits without rates. The predictions are derived in the README; a bounded
product must grow by less than 5 % over the last decade, where one power of a logarithm too many
would make it grow by 22 %.
"""

from collections.abc import Iterator
from functools import partial

from experiments.harness.claims import level
from experiments.harness.judging import Claim
from experiments.ntp_rates.run import GD, ONE_HOT_NGD, SPLIT, STALLING

DERIVED = "our prediction, not in the paper"
LIMIT = "Thrampoulidis 2024, Theorem 2, gives the limit without a rate"
_derived, _limit = partial(level, source=DERIVED), partial(level, source=LIMIT)


def _asymptotics() -> Iterator[Claim]:
    slope = "slope in logarithms over the last 1.5 decades against -1"
    text = "η k (CE - H) of gradient descent tends to ‖W_mm‖² (relative difference at the end)"
    yield _derived(text, "loss_constant_error", GD, at_most=0.05, paper="CE tends to H")
    text = f"‖P_F W - W*‖ falls as 1/k ({slope})"
    yield _limit(text, "finite_slope_error", GD, at_most=0.1, paper="tends to 0")
    text = "‖P_⊥W‖ grows as ‖W_mm‖ log k (slope over the last 3 decades, over ‖W_mm‖, against 1)"
    yield _limit(text, "growth_slope_error", GD, at_most=0.05, paper="diverges")
    text = "(1 - cos) log² k is bounded (growth over the last decade)"
    metric = "direction_product_over_decade"
    yield _limit(text, metric, GD, at_most=1.05, paper="1 - cos tends to 0")


def _dual() -> Claim:
    text = (
        "η k times the residuals of gradient descent tends to the dual solution of the "
        "max-margin problem (relative distance at the end)"
    )
    return _derived(text, "dual_error", GD, at_most=0.1, paper="none")


def _floor() -> Claim:
    text = (
        f"Normalised descent with step size {STALLING[0]['step_size']:g} stalls: CE - H tends to "
        "λ_F η² / 8 (relative difference at the end)"
    )
    words = "none: NGD is run for 10,000 steps"
    return _derived(text, "loss_ratio_error", STALLING[0], at_most=0.1, paper=words)


def _no_floor() -> Iterator[Claim]:
    text = (
        "With one next token a context normalised descent does not stall (log of the "
        "leaked mass after 10,000 steps)"
    )
    yield _derived(text, "log_leaked_mass", ONE_HOT_NGD, at_most=-100.0, paper="none")
    text = (
        "Split NGD's margin approaches γ as 1/k for supports of 3 tokens, too (slope over the "
        "last decade against -1)"
    )
    yield _derived(text, "margin_slope_error", SPLIT, at_most=0.15, paper="none")


CLAIMS = [*_asymptotics(), _dual(), _floor(), *_no_floor()]
