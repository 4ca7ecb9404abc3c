"""Claims of Yang et al. (2025) on losses and warm-up, at the ends of a range of learning rates.

A bound is the paper's number where it gives one. E2's 1.00 leaves room for a hundredth, and E1's
bound is Table 3's number at λ = 4, the strength the paper chose.
"""

from experiments.el_copy_rates.run import NUM_UPDATES, RATES
from experiments.harness.claims import contrast, greater, level
from experiments.harness.judging import Claim

HARD = "test_precise_hard_accuracy"
FIGURE_4, TABLE_3 = "Yang et al. 2025, Figure 4", "Yang et al. 2025, Table 3"
CE = {"loss": "cross_entropy"}
E1, E2, E3 = {"loss": "e1", "lam": 2.0}, {"loss": "e2", "lam": 4.0}, {"loss": "e3", "b": 1.0}
E_LOSSES = {"E1 λ=2": E1, "E2 λ=4": E2, "E3 b=1": E3}
COLD, WARM = {"warmup_steps": 0}, {"warmup_steps": 1000}


def _at(rate: float) -> dict[str, float]:
    return {"peak_lr": rate, "num_updates": NUM_UPDATES}


def _of_losses(rate: float) -> list[Claim]:
    """Warm-up alone, and what E1 and E2 add to it."""
    warm = WARM | _at(rate)
    return [
        level(
            f"Warm-up alone does not make cross-entropy copy (η = {rate:g})",
            HARD,
            CE | warm,
            at_most=0.4,
            paper="0.246",
            source=TABLE_3,
        ),
        greater(
            f"E1 λ=2 adds to warm-up (η = {rate:g})",
            HARD,
            E1 | warm,
            CE | warm,
            paper="0.780 against 0.246",
            source=TABLE_3,
        ),
        greater(
            f"E2 λ=4 adds to warm-up (η = {rate:g})",
            HARD,
            E2 | warm,
            CE | warm,
            paper="no number for warm-up alone",
            source=FIGURE_4,
        ),
    ]


def _at_both_ends(low: float, high: float) -> list[Claim]:
    more = contrast(
        f"E2 λ=4 adds more to warm-up at η = {high:g} than at {low:g}",
        HARD,
        [
            (1, E2 | WARM | _at(high)),
            (-1, CE | WARM | _at(high)),
            (-1, E2 | WARM | _at(low)),
            (1, CE | WARM | _at(low)),
        ],
    )
    return [*_of_losses(low), *_of_losses(high), more]


CLAIMS = {scale: _at_both_ends(rates[0], rates[-1]) for scale, rates in RATES.items()}
