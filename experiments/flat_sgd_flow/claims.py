"""Theorem 4.3 of Liu, Xie, Li, Ma (2023) at small rates: drift, its rate, and what it needs."""

from experiments.flat_sgd_flow.run import FULL, NETWORK, SCALES, Setting
from experiments.harness.claims import level
from experiments.harness.judging import Claim

PAPER = "Liu et al. 2023"
THEOREM = f"{PAPER}, Theorem 4.3"
NOISE = f"{PAPER}, section 4: the noise is that of the batch"


def _product(scale: Setting) -> list[Claim]:
    rate, batch = min(scale.rates), min(scale.batches)
    at = {"rate": rate, "batch": batch}
    return [
        level(
            "On the solvable model D falls at the rate a η²/B of the flow (over it, at the "
            f"smallest η, B = {batch})",
            "rate_ratio",
            {"model": "product"} | at,
            at_least=0.98,
            at_most=1.02,
            paper="1 as η → 0",
            source=THEOREM,
        ),
        level(
            f"... and the error of that rate halves when η does (power of η, B = {batch})",
            "error_order",
            {"model": "product", "batch": batch},
            at_least=0.8,
            at_most=1.2,
            paper="none; 1 by expansion in η",
            source="ours",
        ),
    ]


def _network(scale: Setting) -> list[Claim]:
    rate, batch = min(scale.rates), min(scale.batches)
    at = {"rate": rate, "batch": batch}
    return [
        *(
            level(
                "SGD lowers the network's trace as far as the flow does (fall over its fall, "
                f"smallest η, B = {size})",
                "fall_ratio",
                NETWORK | {"rate": rate, "batch": size},
                at_least=0.9,
                at_most=1.1,
                paper="1 as η → 0",
                source=THEOREM,
            )
            for size in scale.batches
        ),
        level(
            "Twice the batch drifts half as fast per step (factor, network, smallest η)",
            "doubling",
            {"model": "network", "rate": rate},
            at_least=1.9,
            at_most=2.1,
            paper="2",
            source=THEOREM,
        ),
        level(
            "Meanwhile the loss stays at the level of the noise, η/(4B) Tr H above the entropy "
            f"(over that, smallest η, B = {batch})",
            "loss_ratio",
            NETWORK | at,
            at_least=0.85,
            at_most=1.15,
            paper="constant loss",
            source=NOISE,
        ),
    ]


_CONTROL = level(
    "Without noise the trace stays: gradient descent on the whole loss, from where "
    "SGD has come to (fall over the flow's)",
    "fall_ratio",
    FULL,
    at_least=-0.1,
    at_most=0.1,
    paper="0",
    source=THEOREM,
)

CLAIMS = {name: [*_product(scale), *_network(scale), _CONTROL] for name, scale in SCALES.items()}
