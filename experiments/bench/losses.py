"""Time of an update with an equal-learning loss, against the same with cross-entropy."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from el_jax import build
from experiments.bench.fused import LABELS, LOSSES, Size, loss_and_gradient, operands_of
from experiments.bench.measurement import Measurement
from experiments.bench.paired import Timing, compare
from experiments.bench.timing import seconds_of
from experiments.bench.trainings import Updates, copy_config

EQUAL_LEARNING = ("e1", "e2", "e3")


class Plan(NamedTuple):
    """Losses, sizes and number of rounds."""

    losses: tuple[str, ...]
    smoke_model: bool
    num_updates: int
    size: Size
    rounds: int


PLANS = {
    "smoke": Plan(("e1",), True, 2, Size(16, 8, 128), 1),
    "cpu": Plan(EQUAL_LEARNING, False, 50, Size(1024, 256, 16_384), 25),
    "gpu": Plan(EQUAL_LEARNING, False, 200, Size(16_384, 768, 50_304), 20),
}


def measure(plan: Plan) -> Iterator[Measurement]:
    """Ratios of times, each loss over cross-entropy."""
    yield from _of_updates(plan)
    yield from _of_loss_and_gradient(plan)


def _of_updates(plan: Plan) -> Iterator[Measurement]:
    """Whole updates of the copy task's model, everything the engine does included."""

    def timing(loss: str) -> Timing:
        training = build.build(build.parse(copy_config(loss, smoke=plan.smoke_model)))
        return seconds_of(Updates(training, plan.num_updates))

    return _compare("one update of the copy task", timing, plan)


def _of_loss_and_gradient(plan: Plan) -> Iterator[Measurement]:
    """Loss and its gradient by hidden states and head, without the logits of all tokens."""
    operands = operands_of(plan.size)

    def timing(loss: str) -> Timing:
        return seconds_of(partial(loss_and_gradient(LOSSES[loss], "auto"), *operands))

    return _compare(f"fused loss, {plan.size}", timing, plan)


def _compare(work: str, timing: Callable[[str], Timing], plan: Plan) -> Iterator[Measurement]:
    """Time each loss against cross-entropy."""
    cross_entropy = timing("cross_entropy")
    for loss in plan.losses:
        found = compare(cross_entropy, timing(loss), plan.rounds)
        yield Measurement(f"{LABELS[loss]}, {work}", {"time / cross-entropy": found.ratios})
