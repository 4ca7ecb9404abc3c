"""Theorem 4.3 of Liu, Xie, Li, Ma (2023) at small rates: drift, its rate, and what it needs."""

import pandas as pd

from experiments.harness.claims import Claim, claim_greater, claim_level, claim_number
from experiments.harness.tables import settings_with, with_parts

PAPER = "Liu et al. 2023"
THEOREM = f"{PAPER}, Theorem 4.3"
ASSUMPTION = f"{PAPER}, Assumption 4.1"
LEMMA = f"{PAPER}, Lemma 4.2"
NOISE = f"{PAPER}, section 4: the noise is that of the batch"
PATHS = r"{model}, η=(?P<rate>[\d.]+), B=(?P<batch>\d+)"


def claims(results: pd.DataFrame) -> list[Claim]:
    """The solvable model, the network at its minimum, its drift, and the control."""
    return [*_product(results), *_minimum(results), *_drift(results), *_control(results)]


def smallest_rate(results: pd.DataFrame, model: str) -> tuple[str, list[str]]:
    """The smallest η of a model, and its batches in order; empty ones if nothing was measured."""
    paths = with_parts(results, PATHS.format(model=model))
    if paths.empty:
        return "", []
    rate = min(paths["rate"], key=float)
    return rate, [str(b) for b in sorted(set(paths["batch"][paths["rate"] == rate]))]


def _at_smallest(results: pd.DataFrame, model: str) -> dict[str, str]:
    """The settings at the smallest η, by batch; one that stands for none if nothing was run."""
    rate, batches = smallest_rate(results, model)
    return {b: f"{model}, η={rate}, B={b}" for b in batches} or {"1": f"{model}, B=1"}


def _product(results: pd.DataFrame) -> list[Claim]:
    rates = [
        claim_level(
            results, setting, "rate_ratio", at_least=0.98, at_most=1.02,
            text=f"On the solvable model D falls at the rate a η²/B of the flow (over it, at the "
            f"smallest η, B = {batch})",
            source=THEOREM, paper_value="1 as η → 0",
        )
        for batch, setting in _at_smallest(results, "product").items()
    ]  # fmt: skip
    orders = [
        claim_level(
            results, setting, "error_order", at_least=0.8, at_most=1.2,
            text="... and the error of that rate halves when η does (power of η, "
            f"{setting.removeprefix('product, ')})",
            source="ours", paper_value="none; 1 by expansion in η",
        )
        for setting in sorted(settings_with(results, "error_order")) or ["product, B=1"]
    ]  # fmt: skip
    return [*rates, *orders, _doubling(results, "product", 1.95, 2.05)]


def _doubling(results: pd.DataFrame, model: str, least: float, most: float) -> Claim:
    rate, _ = smallest_rate(results, model)
    return claim_level(
        results, f"{model}, η={rate}", "doubling", at_least=least, at_most=most,
        text=f"Twice the batch drifts half as fast per step (factor, {model}, smallest η)",
        source=THEOREM, paper_value="2",
    )  # fmt: skip


def _minimum(results: pd.DataFrame) -> list[Claim]:
    def number(metric: str, low: float, high: float, text: str, source: str, value: str) -> Claim:
        return claim_number(
            results, "network", metric, at_least=low, at_most=high,
            text=text, source=source, paper_value=value,
        )  # fmt: skip

    return [
        number(
            "divergence", -1e-9, 1e-6,
            "The network is at a minimum of the population loss (nats above the entropy)",
            ASSUMPTION, "0",
        ),
        number(
            "missing_rank", 0, 0,
            "Its Hessian has the rank of the model's function, n (V − 1) (directions missing)",
            ASSUMPTION, "0",
        ),
        number(
            "hessian_ratio", 1 - 1e-6, 1 + 1e-6,
            "There the trace of the Hessian is that of the Fisher matrix (ratio)", LEMMA, "1",
        ),
    ]  # fmt: skip


def _drift(results: pd.DataFrame) -> list[Claim]:
    found = []
    for batch, setting in _at_smallest(results, "network").items():
        at = f"smallest η, B = {batch}"
        found += [
            claim_level(
                results, setting, "fall_ratio", at_least=0.9, at_most=1.1,
                text=f"SGD lowers the trace as far as the flow does (fall over its fall, {at})",
                source=THEOREM, paper_value="1 as η → 0",
            ),
            claim_level(
                results, setting, "slope_ratio", at_least=0.9, at_most=1.1,
                text="... at η²/(4B) ‖∇_Γ Tr H‖² a step (fall over the sum of what the slope at "
                f"each mark predicts, once the noise has settled, {at})",
                source=THEOREM, paper_value="1 as η → 0",
            ),
            claim_level(
                results, setting, "loss_ratio", at_least=0.85, at_most=1.15,
                text="Meanwhile the loss stays at the level of the noise, η/(4B) Tr H above the "
                f"entropy (over that, {at})",
                source=NOISE, paper_value="constant loss",
            ),
            claim_level(
                results, setting, "loss_change", at_most=1.05,
                text="... and does not rise (second half of the settled path over the first, "
                f"{at})",
                source=NOISE, paper_value="constant loss",
            ),
        ]  # fmt: skip
    return [*found, _doubling(results, "network", 1.9, 2.1)]


def _control(results: pd.DataFrame) -> list[Claim]:
    noisy = next(iter(_at_smallest(results, "network").values()))
    return [
        claim_level(
            results, "network without noise", "fall_ratio", at_least=-0.1, at_most=0.1,
            text="Without noise the trace stays: gradient descent on the whole loss, from where "
            "SGD has come to (fall over the flow's)",
            source=THEOREM, paper_value="0",
        ),
        claim_greater(
            results, "fall_ratio", noisy, "network without noise", by=0.8,
            text="... so that the noise makes nearly all of the fall (difference above .8)",
            source=THEOREM, paper_value="1",
        ),
    ]  # fmt: skip
