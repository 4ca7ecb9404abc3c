"""Time of an update with an equal-learning loss, against the same with cross-entropy."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from el_jax import build
from experiments.bench.fused import LOSSES, Size, loss_and_gradient, operands_of
from experiments.bench.paired import Timing, compare
from experiments.bench.rows import Row, at_most, estimated
from experiments.bench.scales import Scale
from experiments.bench.timing import seconds_of
from experiments.bench.trainings import Updates, copy_config

NAME = "losses"
GOAL = at_most(1.05)
EQUAL_LEARNING = {"e1": "E1", "e2": "E2", "e3": "E3"}


class _Plan(NamedTuple):
    losses: tuple[str, ...]
    smoke_model: bool
    num_updates: int
    size: Size
    rounds: int


_PLANS: dict[Scale, _Plan] = {
    "smoke": _Plan(("e1",), True, 2, Size(16, 8, 128), 1),
    "cpu": _Plan(tuple(EQUAL_LEARNING), False, 50, Size(1024, 256, 16_384), 25),
    "gpu": _Plan(tuple(EQUAL_LEARNING), False, 200, Size(16_384, 768, 50_304), 20),
}


def measure(scale: Scale) -> list[Row]:
    """Ratios of times, each loss over cross-entropy."""
    plan = _PLANS[scale]
    return _of_updates(plan) + _of_loss_and_gradient(plan)


def _of_updates(plan: _Plan) -> list[Row]:
    """Whole updates of the copy task's model, everything the engine does included."""

    def timing(loss: str) -> Timing:
        training = build.build(build.parse(copy_config(loss, smoke=plan.smoke_model)))
        return seconds_of(Updates(training, plan.num_updates))

    return _compare("copy task, one update", timing, plan)


def _of_loss_and_gradient(plan: _Plan) -> list[Row]:
    """Loss and its gradient by hidden states and head, without the logits of all tokens."""
    operands = operands_of(plan.size)

    def timing(loss: str) -> Timing:
        return seconds_of(partial(loss_and_gradient(LOSSES[loss], "auto"), *operands))

    return _compare(f"fused loss and gradient, {plan.size}", timing, plan)


def _compare(case: str, timing: Callable[[str], Timing], plan: _Plan) -> list[Row]:
    """Time each loss against cross-entropy."""
    cross_entropy = timing("cross_entropy")
    rows = []
    for loss in plan.losses:
        ratio = compare(cross_entropy, timing(loss), plan.rounds).ratio
        quantity = f"{EQUAL_LEARNING[loss]} / cross-entropy"
        rows.append(estimated(NAME, case, quantity, ratio, GOAL))
    return rows
