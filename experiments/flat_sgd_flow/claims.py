"""Theorem 4.3 of Liu, Xie, Li, Ma (2023) at small rates: drift, its rate, and what it needs."""

from experiments.flat_sgd_flow.run import FULL, NETWORK, SCALES, Setting
from experiments.harness.claims import greater, level, number
from experiments.harness.judging import Claim

PAPER = "Liu et al. 2023"
THEOREM = f"{PAPER}, Theorem 4.3"
ASSUMPTION = f"{PAPER}, Assumption 4.1"
LEMMA = f"{PAPER}, Lemma 4.2"
NOISE = f"{PAPER}, section 4: the noise is that of the batch"


def _product(scale: Setting) -> list[Claim]:
    return [
        *(
            level(
                "On the solvable model D falls at the rate a η²/B of the flow (over it, at the "
                f"smallest η, B = {batch})",
                "rate_ratio",
                {"model": "product", "rate": min(scale.rates), "batch": batch},
                at_least=0.98,
                at_most=1.02,
                paper="1 as η → 0",
                source=THEOREM,
            )
            for batch in scale.batches
        ),
        *(
            level(
                f"... and the error of that rate halves when η does (power of η, B={batch})",
                "error_order",
                {"model": "product", "batch": batch},
                at_least=0.8,
                at_most=1.2,
                paper="none; 1 by expansion in η",
                source="ours",
            )
            for batch in scale.batches
        ),
    ]


def _doubling(scale: Setting, model: str, slack: float) -> Claim:
    return level(
        f"Twice the batch drifts half as fast per step (factor, {model}, smallest η)",
        "doubling",
        {"model": model, "rate": min(scale.rates)},
        at_least=2 - slack,
        at_most=2 + slack,
        paper="2",
        source=THEOREM,
    )


_MINIMUM = [
    number(
        "The network is at a minimum of the population loss (nats above the entropy)",
        "divergence",
        NETWORK,
        at_least=-1e-9,
        at_most=1e-6,
        paper="0",
        source=ASSUMPTION,
    ),
    number(
        "Its Hessian has the rank of the model's function, n (V − 1) (directions missing)",
        "missing_rank",
        NETWORK,
        at_least=0,
        at_most=0,
        paper="0",
        source=ASSUMPTION,
    ),
    number(
        "There the trace of the Hessian is that of the Fisher matrix (ratio)",
        "hessian_ratio",
        NETWORK,
        at_least=1 - 1e-6,
        at_most=1 + 1e-6,
        paper="1",
        source=LEMMA,
    ),
]


def _drift(rate: float, batch: int) -> list[Claim]:
    where, at = NETWORK | {"rate": rate, "batch": batch}, f"smallest η, B = {batch}"
    return [
        level(
            f"SGD lowers the trace as far as the flow does (fall over its fall, {at})",
            "fall_ratio",
            where,
            at_least=0.9,
            at_most=1.1,
            paper="1 as η → 0",
            source=THEOREM,
        ),
        level(
            "... at η²/(4B) ‖∇_Γ Tr H‖² a step (fall over the sum of what the slope at "
            f"each mark predicts, once the noise has settled, {at})",
            "slope_ratio",
            where,
            at_least=0.9,
            at_most=1.1,
            paper="1 as η → 0",
            source=THEOREM,
        ),
        level(
            "Meanwhile the loss stays at the level of the noise, η/(4B) Tr H above the "
            f"entropy (over that, {at})",
            "loss_ratio",
            where,
            at_least=0.85,
            at_most=1.15,
            paper="constant loss",
            source=NOISE,
        ),
        level(
            f"... and does not rise (second half of the settled path over the first, {at})",
            "loss_change",
            where,
            at_most=1.05,
            paper="constant loss",
            source=NOISE,
        ),
    ]


def _control(scale: Setting) -> list[Claim]:
    return [
        level(
            "Without noise the trace stays: gradient descent on the whole loss, from where "
            "SGD has come to (fall over the flow's)",
            "fall_ratio",
            FULL,
            at_least=-0.1,
            at_most=0.1,
            paper="0",
            source=THEOREM,
        ),
        greater(
            "... so that the noise makes nearly all of the fall (difference above .8)",
            "fall_ratio",
            NETWORK | {"rate": min(scale.rates), "batch": min(scale.batches)},
            FULL,
            by=0.8,
            paper="1",
            source=THEOREM,
        ),
    ]


CLAIMS = {
    name: [
        *_product(scale),
        _doubling(scale, "product", 0.05),
        *_MINIMUM,
        *(claim for batch in scale.batches for claim in _drift(min(scale.rates), batch)),
        _doubling(scale, "network", 0.1),
        *_control(scale),
    ]
    for name, scale in SCALES.items()
}
