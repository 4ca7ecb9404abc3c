"""One update with an equal-learning loss against the same with cross-entropy."""

from functools import partial
from typing import NamedTuple

from el_jax import build
from experiments.bench.fused import LOSSES, Size, loss_and_gradient, operands_of
from experiments.bench.paired import compare
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
    "cpu": _Plan(tuple(EQUAL_LEARNING), False, 10, Size(1024, 256, 16_384), 9),
    "gpu": _Plan(tuple(EQUAL_LEARNING), False, 200, Size(16_384, 768, 50_304), 20),
}


def measure(scale: Scale) -> list[Row]:
    """Ratios of times, each loss over cross-entropy."""
    plan = _PLANS[scale]
    return _of_updates(plan) + _of_loss_and_gradient(plan)


def _of_updates(plan: _Plan) -> list[Row]:
    """Whole updates of the copy task's model, everything the engine does included."""
    timings = {
        loss: seconds_of(
            Updates(
                build.build(build.parse(copy_config(loss, smoke=plan.smoke_model))),
                plan.num_updates,
            )
        )
        for loss in ("cross_entropy", *plan.losses)
    }
    return [
        estimated(
            NAME, "copy task, one update", f"{EQUAL_LEARNING[loss]} / cross-entropy",
            compare(timings["cross_entropy"], timings[loss], plan.rounds).ratio, GOAL,
        )
        for loss in plan.losses
    ]  # fmt: skip


def _of_loss_and_gradient(plan: _Plan) -> list[Row]:
    """Loss and its gradient by hidden states and head, without the logits of all tokens."""
    operands = operands_of(plan.size)
    timings = {
        loss: seconds_of(partial(loss_and_gradient(LOSSES[loss], "auto"), *operands))
        for loss in ("cross_entropy", *plan.losses)
    }
    return [
        estimated(
            NAME, f"fused loss and gradient, {plan.size}", f"{EQUAL_LEARNING[loss]} / cross-entropy",
            compare(timings["cross_entropy"], timings[loss], plan.rounds).ratio, GOAL,
        )
        for loss in plan.losses
    ]  # fmt: skip
