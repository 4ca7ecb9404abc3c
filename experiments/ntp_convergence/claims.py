"""Claims of Thrampoulidis (2024) on three optimizers and overparameterised data, Appendix A.2."""

import math

import numpy as np
import pandas as pd

from experiments.harness.claims import Claim, claim_greater, claim_level, claim_trend
from experiments.harness.tables import settings_with

SOURCE = "Thrampoulidis 2024, Appendix A.2, Figures 4 and 5"
OURS = "not in the paper"
METHODS = ("GD", "NGD", "Adam")
DECADES = (100, 1_000, 10_000, 100_000, 1_000_000)
PAPER_STEPS = 10_000  # of the paper; methods are compared there


def claims(results: pd.DataFrame) -> list[Claim]:
    """Claims on the common bias, on the order of the methods' speeds, and beyond the cosine."""
    return [
        *(claim for method in METHODS for claim in _same_bias(results, method)),
        *(_finite_part(results, f"{m}{data}") for data in ("", " on counts") for m in METHODS),
        *_speed(results),
        *(_finite_part_hides(results, method) for method in METHODS),
        *_margins(results),
    ]


def _at(method: str, step: int = PAPER_STEPS) -> str:
    return f"{method}, step {step}"


def _last_decades(results: pd.DataFrame, method: str) -> list[int]:
    """The three last decades that were measured."""
    known = settings_with(results, "cosine")
    measured = [step for step in DECADES if _at(method, step) in known]
    return measured[-3:] if len(measured) > 2 else [1_000, 10_000, 100_000]


def _same_bias(results: pd.DataFrame, method: str) -> list[Claim]:
    decades = _last_decades(results, method)
    settings, last = [_at(method, step) for step in decades], _at(method, decades[-1])
    positions = [math.log10(step) for step in decades]
    steps = ", ".join(f"{step:,}" for step in decades)
    return [
        claim_trend(
            results, "cosine", settings, rising=True, positions=positions,
            text=f"{method} turns towards W_mm (cosine after {steps} steps; slope per decade)",
            source=SOURCE, paper_value="rises towards 1, values only drawn",
        ),
        claim_level(
            results, last, "cosine", at_least=0.9,
            text=f"{method} has nearly the direction of W_mm after {decades[-1]:,} steps (cosine)",
            source=SOURCE, paper_value="near 1, values only drawn",
        ),
        claim_trend(
            results, "norm", settings, rising=True, positions=positions,
            text=f"The norm of W grows with {method} ({steps} steps; slope per decade)",
            source=SOURCE, paper_value="diverges",
        ),
        claim_trend(
            _log10(results, "excess_loss"), "excess_loss", settings, rising=False,
            positions=positions,
            text=f"The cross-entropy of {method} falls towards H (log10 of CE - H after {steps} "
            "steps; slope per decade)",
            source=SOURCE, paper_value="converges to H",
        ),
    ]  # fmt: skip


def _finite_part(results: pd.DataFrame, method: str) -> Claim:
    decades = _last_decades(results, method)
    steps = ", ".join(f"{step:,}" for step in decades)
    return claim_trend(
        _log10(results, "finite_error"), "finite_error", [_at(method, step) for step in decades],
        rising=False, positions=[math.log10(step) for step in decades],
        text=f"P_F W approaches W* with {method} (log10 of the distance after {steps} steps; "
        "slope per decade)",
        source=SOURCE, paper_value="tends to 0",
    )  # fmt: skip


def _log10(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """One metric in logarithms, whose factors count and not its differences."""
    rows = results[results["metric"] == metric]
    return rows.assign(value=np.log10(rows["value"]))


def _speed(results: pd.DataFrame) -> list[Claim]:
    pairs = (
        ("NGD", "GD", "faster"),
        ("Adam", "GD", "faster"),
        ("Adam", "NGD", "slightly faster"),
        ("Adam on counts", "NGD on counts", "slightly faster"),
    )
    return [
        claim
        for better, worse, how in pairs
        for claim in (
            claim_greater(
                results, "cosine", _at(better), _at(worse),
                text=f"{better} is {how} than {worse} (cosine of W after {PAPER_STEPS:,} steps)",
                source=SOURCE, paper_value=how,
            ),
            claim_greater(
                results, "cosine_minus_finite", _at(better), _at(worse),
                text=f"{better} is {how} than {worse} (cosine of W - W* after {PAPER_STEPS:,} "
                "steps)",
                source=SOURCE, paper_value=how,
            ),
            claim_greater(
                _log10(results, "excess_loss"), "excess_loss", _at(worse), _at(better),
                text=f"{better} is {how} than {worse} (log10 of CE - H after {PAPER_STEPS:,} "
                "steps)",
                source=SOURCE, paper_value=how,
            ),
        )
    ]  # fmt: skip


def _finite_part_hides(results: pd.DataFrame, method: str) -> Claim:
    names = {"cosine": "W", "cosine_minus_finite": "W - W*"}
    rows = results[(results["setting"] == _at(method)) & results["metric"].isin(names)]
    combined = rows.assign(setting=rows["metric"].map(names), metric="cosine")
    return claim_greater(
        combined, "cosine", "W - W*", "W",
        text=f"Without its finite part {method} is nearer to W_mm (cosines of W - W* and of W "
        f"after {PAPER_STEPS:,} steps)",
        source=SOURCE, paper_value="larger, values only drawn",
    )  # fmt: skip


def _margins(results: pd.DataFrame) -> list[Claim]:
    return [
        claim_level(
            results, _at("GD"), "margin_ratio", at_most=0.0,
            text=f"After {PAPER_STEPS:,} steps gradient descent does not separate yet (margin of "
            "P_⊥W over γ), whatever its cosine",
            source=OURS, paper_value="not reported",
        ),
        claim_level(
            results, _at("GD"), "cosine", at_least=0.9,
            text=f"... though its cosine with W_mm is above 0.9 after {PAPER_STEPS:,} steps",
            source=OURS, paper_value="near 1, values only drawn",
        ),
        claim_greater(
            results, "margin_ratio", _at("Adam"), _at("NGD"),
            text=f"After {PAPER_STEPS:,} steps Adam has the larger Frobenius margin than NGD",
            source=OURS, paper_value="not reported",
        ),
        claim_greater(
            results, "margin_ratio", _at("GD on counts"), _at("GD"),
            text=f"After {PAPER_STEPS:,} steps gradient descent has the larger margin where "
            "no token of a support is rarer than 1 in 100",
            source=OURS, paper_value="not reported",
        ),
    ]  # fmt: skip
