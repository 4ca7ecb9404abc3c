"""Claims of Liu, Xie, Li, Ma (2023) on a training that goes on after its loss has converged.

Sections 3.3 and 5, Figures 1 and 3: with the loss near the entropy, the accuracy of probes goes on
rising, and the trace of the Hessian goes on falling. A loss that still falls could do both by
itself. The control is SGD at a fifth of the rate: noise moves the trace by the square of the rate
(Theorem 4.3), descent of what is left of the loss by the rate.
"""

from experiments.flat_time.run import ACCURACIES, TRACES, WORLDS
from experiments.harness.claims import contrast, greater, level
from experiments.harness.judging import OURS, Claim

FIGURE_1, THEOREM = "Liu et al. 2023, Figure 1", "Liu et al. 2023, Theorem 4.3"
WAYS = {  # words, and place in the paper
    "adamw": ("AdamW", FIGURE_1),
    "sgd": ("SGD", "Liu et al. 2023, Figure 3"),
    "slow_sgd": ("SGD at a fifth of the rate", OURS),
}
SATURATED = 0.01  # nats above the entropy, as far as the models of the paper's Table 1 are
STILL = 0.01  # nats by which a loss may move and be called converged
RATIO = 5.0  # of the two rates of SGD
# points of accuracy from the start of the plateau to its end, of the paper's Figure 3
POINTS = {("pcfg", "sgd"): "+1.6 points", ("hmm", "sgd"): "+4.0 points"}
LABELS = dict(zip(ACCURACIES, ("the nearer label", "the farther label"), strict=True))
WORDS = dict(zip(TRACES, ("Fisher trace", "scale-free trace"), strict=True))


def _afterwards(world: str, way: str) -> list[Claim]:
    where = {"world": world, "afterwards": way}
    words, source = WAYS[way]
    drawn = "" if source == OURS else "yes, values only drawn"
    who = f"{world.upper()}, then {words}"
    return [
        level(
            f"{who}: the loss moves by less than {STILL} nats",
            "kl_moved",
            where,
            at_most=STILL,
            paper=drawn,
            source=source,
        ),
        *(
            level(
                f"{who}: the probe of {label} gains",
                f"{accuracy}_since_saturation",
                where,
                at_least=0.0,
                paper=POINTS.get((world, way), drawn),
                source=source,
            )
            for accuracy, label in LABELS.items()
        ),
        *(
            level(
                f"{who}: the {WORDS[trace]} falls (change of its logarithm)",
                f"{trace}_since_saturation",
                where,
                at_most=0.0,
                paper=drawn if trace == "fisher_trace" else "",
                source=source if trace == "fisher_trace" else OURS,
            )
            for trace in TRACES
        ),
    ]


def _of_noise(world: str, trace: str) -> list[Claim]:
    """Falls with the rate; and faster than it, as noise does and descent does not."""
    fast, slow = ({"world": world, "afterwards": way} for way in ("sgd", "slow_sgd"))
    who = f"{world.upper()}: the {WORDS[trace]} falls"
    change = f"{trace}_since_saturation"
    return [
        greater(
            f"{who} more by SGD at the larger rate",
            change,
            slow,
            fast,
            paper="yes",
            source=THEOREM,
        ),
        contrast(
            f"{who} more than {RATIO:g} times as much at {RATIO:g} times the rate of SGD",
            change,
            [(RATIO, slow), (-1.0, fast)],
            paper="25 times, at first",
            source=THEOREM,
        ),
    ]


CLAIMS = [
    claim
    for world in WORLDS
    for claim in (
        level(
            f"{world.upper()}: the loss comes within {SATURATED} nats of the entropy",
            "kl_at_saturation",
            {"world": world, "afterwards": "adamw"},
            at_most=SATURATED,
            paper="within .01 (Table 1)",
            source=FIGURE_1,
        ),
        *(claim for way in WAYS for claim in _afterwards(world, way)),
        *(claim for trace in TRACES for claim in _of_noise(world, trace)),
    )
]
