"""The last block at the supervised positions only, against the last block at all positions."""

import dataclasses
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from el_jax.losses import cross_entropy
from el_jax.models import PRESETS
from experiments.bench.fused import Size, loss_and_gradient, operands_of
from experiments.bench.measurement import Measurement
from experiments.bench.paired import Timing, compare
from experiments.bench.timing import seconds_of
from experiments.bench.trainings import PlainUpdates, random_batch

VOCAB_SIZE = 29  # of the copy task


class Plan(NamedTuple):
    """Sizes and numbers of updates and rounds."""

    width: int
    num_layers: int
    windows: int
    length: int
    asked: int  # positions in each window
    num_updates: int
    rounds: int


PLANS = {
    "smoke": Plan(16, 2, 2, 16, 1, 1, 1),
    "cpu": Plan(128, 4, 2, 512, 1, 1, 9),
    "gpu": Plan(128, 4, 8, 2013, 5, 50, 20),
}


def measure(plan: Plan) -> Iterator[Measurement]:
    """Time everywhere over time where asked, and the share of an update for head and loss."""
    model = dataclasses.replace(
        PRESETS["gpt_neox"],
        vocab_size=VOCAB_SIZE,
        width=plan.width,
        num_layers=plan.num_layers,
        num_heads=4,
        rotary_fraction=0.5,
    )
    case = (
        f"{plan.num_layers}L/{plan.width}, {plan.windows}x{plan.length} tokens, "
        f"{plan.asked} asked in each"
    )
    few, everywhere = (
        PlainUpdates(
            model, random_batch(VOCAB_SIZE, plan.windows, plan.length, asked), plan.num_updates
        )
        for asked in (plan.asked, None)
    )
    found = compare(seconds_of(few), seconds_of(everywhere), plan.rounds)
    head = compare(seconds_of(everywhere), _head_and_loss(plan), plan.rounds)
    yield Measurement(
        case,
        {
            "everywhere / where asked": found.ratios,
            "operations everywhere / where asked": everywhere.operations / few.operations,
            "head and loss everywhere / update everywhere": head.ratios,
            "update where asked, ms": 1e3 * found.first_seconds / plan.num_updates,
        },
    )


def _head_and_loss(plan: Plan) -> Timing:
    """Time logits, loss and their gradient, in which the two sides also differ."""
    operands = operands_of(Size(plan.windows * plan.length, plan.width, VOCAB_SIZE))
    once = partial(loss_and_gradient(cross_entropy, "plain"), *operands)
    return seconds_of(lambda: [once() for _ in range(plan.num_updates)])
