"""Theorems of Fan et al. (2025) on one-hot data, tested there and on larger supports."""

import pandas as pd

from experiments.harness.claims import Claim, claim_greater, claim_level

FAN = "Fan, Schmidt, Thrampoulidis 2025 (arXiv 2502.04664)"
OPEN = "Thrampoulidis 2024, section 7: open"
OWN_NORM = {
    "ngd": "Frobenius",
    "sign": "max",
    "adam": "max",
    "spectral": "spectral",
    "muon": "spectral",
}


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    return [
        *(_leans(results, method, 1, FAN, "proved in the limit") for method in OWN_NORM),
        *(_leans(results, method, 3, OPEN, "open question") for method in OWN_NORM),
        *(_cosine(results, method) for method in OWN_NORM),
        *(_is_pinned(results, method) for method in OWN_NORM),
    ]


def _leans(results: pd.DataFrame, method: str, S: int, source: str, paper_value: str) -> Claim:
    data = "one-hot data" if S == 1 else f"S = {S} tokens after each context"
    return claim_level(
        results, f"{method}, S={S}", "margin_ratio_own_lead", at_least=0.0,
        text=f"{method} comes nearest to the max margin of the {OWN_NORM[method]} norm ({data}; "
        "its margin ratio less the larger of the other two)",
        source=source, paper_value=paper_value,
    )  # fmt: skip


def _cosine(results: pd.DataFrame, method: str) -> Claim:
    return claim_level(
        results, f"{method}, S=3", "cosine_across_own_lead", at_least=0.0,
        text=f"{method} points nearest to the max-margin matrix of the {OWN_NORM[method]} norm "
        "(S = 3; cosine of P⊥W less the larger of the other two)",
        source=OPEN, paper_value="open question",
    )  # fmt: skip


def _is_pinned(results: pd.DataFrame, method: str) -> Claim:
    return claim_greater(
        results, "log10_excess_loss", f"{method}, S=3", f"{method}, S=1", by=1.0,
        text=f"With S = 3 the curved part of the loss pins the step of {method}: its excess loss "
        "is more than 10 times that on one-hot data (log10 of nats)",
        source="ours; pinning of the effective step size at 2 / λ_F", paper_value="none",
    )  # fmt: skip
