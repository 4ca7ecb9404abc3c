"""Theorems of Fan et al. (2025) on one-hot data, tested there and on larger supports."""

import pandas as pd

from experiments.harness.claims import Claim, claim_greater, claim_level
from experiments.ntp_optimizers.settings import NORMS, OWN_NORM, setting_name

FAN = "Fan, Schmidt, Thrampoulidis 2025 (arXiv 2502.04664)"
OPEN = "Thrampoulidis 2024, section 7: open"
METHODS = [method for method in OWN_NORM if method != "gd"]  # its step size is another


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    return [
        *(_leans(results, method, 1, FAN, "proved in the limit") for method in METHODS),
        *(_leans(results, method, 3, OPEN, "open question") for method in METHODS),
        *(_cosine(results, method) for method in METHODS),
        *(_is_pinned(results, method) for method in METHODS),
    ]


def _leans(results: pd.DataFrame, method: str, S: int, source: str, paper_value: str) -> Claim:
    data = "one-hot data" if S == 1 else f"S = {S} tokens after each context"
    return claim_level(
        results, setting_name(method, S), "margin_ratio_own_lead", at_least=0.0,
        text=f"{method} comes nearest to the max margin of the {NORMS[OWN_NORM[method]]} norm "
        f"({data}; its margin ratio less the larger of the other two)",
        source=source, paper_value=paper_value,
    )  # fmt: skip


def _cosine(results: pd.DataFrame, method: str) -> Claim:
    return claim_level(
        results, setting_name(method, 3), "cosine_across_own_lead", at_least=0.0,
        text=f"{method} points nearest to the max-margin matrix of the {NORMS[OWN_NORM[method]]} "
        "norm (S = 3; cosine of P⊥W less the larger of the other two)",
        source=OPEN, paper_value="open question",
    )  # fmt: skip


def _is_pinned(results: pd.DataFrame, method: str) -> Claim:
    return claim_greater(
        results, "log10_excess_loss", setting_name(method, 3), setting_name(method, 1), by=1.0,
        text=f"With S = 3 the curved part of the loss pins the step of {method}: its excess loss "
        "is more than 10 times that on one-hot data (log10 of nats)",
        source="ours; pinning of the effective step size at 2 / λ_F", paper_value="none",
    )  # fmt: skip
