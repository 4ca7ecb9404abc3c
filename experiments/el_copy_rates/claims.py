"""Claims of Yang et al. (2025) on losses and warm-up, at the ends of a range of learning rates.

A bound is the paper's number where it gives one. E2's 1.00 leaves room for a hundredth, and E1's
bound is Table 3's number at λ = 4, the strength the paper chose.
"""

from experiments.el_copy_rates.run import NUM_UPDATES, RATES
from experiments.harness.claims import contrast, greater, level
from experiments.harness.judging import Claim

EASY, HARD = "test_precise_easy_accuracy", "test_precise_hard_accuracy"
FIGURE_4, TABLE_3 = "Yang et al. 2025, Figure 4", "Yang et al. 2025, Table 3"
CE = {"loss": "cross_entropy"}
E1, E2, E3 = {"loss": "e1", "lam": 2.0}, {"loss": "e2", "lam": 4.0}, {"loss": "e3", "b": 1.0}
E_LOSSES = {"E1 λ=2": E1, "E2 λ=4": E2, "E3 b=1": E3}
COLD, WARM = {"warmup_steps": 0}, {"warmup_steps": 1000}


def _shortcut(rate: float) -> list[Claim]:
    at = {"peak_lr": rate, "num_updates": NUM_UPDATES}
    return [
        level(
            f"Cross-entropy answers unseen easy strings (η = {rate:g})",
            EASY,
            CE | COLD | at,
            at_least=0.99,
            paper="not even all of them",
            source=FIGURE_4,
        ),
        level(
            f"Cross-entropy does not copy unseen hard strings (η = {rate:g})",
            HARD,
            CE | COLD | at,
            at_most=0.4,
            paper="about 0.3 (said of easy strings)",
            source=FIGURE_4,
        ),
    ]


def _warm_up_alone(rate: float) -> Claim:
    return level(
        f"Warm-up alone does not make cross-entropy copy (η = {rate:g})",
        HARD,
        CE | WARM | {"peak_lr": rate, "num_updates": NUM_UPDATES},
        at_most=0.4,
        paper="0.246",
        source=TABLE_3,
    )


def _losses(rate: float) -> list[Claim]:
    """The gain of each loss over warm-up alone, and of warm-up over each loss alone."""
    at = {"peak_lr": rate, "num_updates": NUM_UPDATES}
    return [
        *(
            greater(
                f"{name} adds to warm-up (η = {rate:g})",
                HARD,
                loss | WARM | at,
                CE | WARM | at,
                paper="0.780 against 0.246" if loss is E1 else "no number for warm-up alone",
                source=TABLE_3 if loss is E1 else FIGURE_4,
            )
            for name, loss in E_LOSSES.items()
        ),
        *(
            greater(
                f"{name} gains from warm-up (η = {rate:g})",
                HARD,
                loss | WARM | at,
                loss | COLD | at,
                paper="0.780 against 0.593 (E1 λ=4)" if loss is E1 else "",
                source=TABLE_3,
            )
            for name, loss in E_LOSSES.items()
        ),
    ]


def _reached(rate: float) -> list[Claim]:
    at = {"peak_lr": rate, "num_updates": NUM_UPDATES}
    return [
        level(
            f"E1 λ=2 with warm-up reaches 0.780 (η = {rate:g})",
            HARD,
            E1 | WARM | at,
            at_least=0.78,
            paper="0.780",
            source=TABLE_3,
        ),
        level(
            f"E2 λ=4 with warm-up reaches 1.00 (η = {rate:g})",
            HARD,
            E2 | WARM | at,
            at_least=0.99,
            paper="1.00",
            source=FIGURE_4,
        ),
    ]


def _at_both_ends(low: float, high: float) -> list[Claim]:
    at_low, at_high = ({"peak_lr": r, "num_updates": NUM_UPDATES} for r in (low, high))
    longer = {"peak_lr": high, "num_updates": 4 * NUM_UPDATES}
    return [
        *_shortcut(high),
        _warm_up_alone(high),
        *_losses(high),
        *_reached(low),
        *_reached(high),
        level(
            f"Cross-entropy fits the hard training strings (η = {low:g})",
            "train_hard_accuracy",
            CE | COLD | at_low,
            at_least=0.99,
            paper="1.00",
            source=FIGURE_4,
        ),
        _warm_up_alone(low),
        *_losses(low),
        contrast(
            f"E2 λ=4 adds more to warm-up at η = {high:g} than at {low:g}",
            HARD,
            [
                (1, E2 | WARM | at_high),
                (-1, CE | WARM | at_high),
                (-1, E2 | WARM | at_low),
                (1, CE | WARM | at_low),
            ],
        ),
        greater(
            f"E2 λ=4 still adds to warm-up with four times the updates (η = {high:g})",
            HARD,
            E2 | WARM | longer,
            CE | WARM | longer,
        ),
    ]


CLAIMS = {scale: _at_both_ends(rates[0], rates[-1]) for scale, rates in RATES.items()}
