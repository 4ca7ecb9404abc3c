"""A config's optimizer: a named method, its schedule, and numbers that may differ by run."""

import dataclasses
from collections.abc import Mapping

import jax
import optax
from jax.typing import ArrayLike

from el_jax.numbers import Number, numbers_of
from el_jax.process.errors import require
from el_jax.training.optimizers.clipping import clipped
from el_jax.training.optimizers.methods import OPTIMIZERS
from el_jax.training.optimizers.schedules import (
    SCHEDULES,
    learning_rate,
    schedule_numbers,
)
from el_jax.training.state import Hypers


def optimizer_numbers(name: str) -> dict[str, Number]:
    """The numbers of an optimizer and its schedule, by name.

    Args:
        name: key of ``OPTIMIZERS``.

    Raises:
        TypeError: a schedule and the optimizer have a number of the same name.
    """
    shared, own = schedule_numbers() | numbers_of(clipped), numbers_of(OPTIMIZERS[name])
    if both := shared.keys() & own.keys():
        raise TypeError(
            f"{name} has a number {min(both)}, and so has clipping, warm-up or a schedule "
            f"({', '.join(SCHEDULES)}): rename one"
        )
    return shared | own


@dataclasses.dataclass(frozen=True)
class OptimizerConfig:
    """Optimizer options that all runs of a training share.

    Attributes:
        name: key of ``OPTIMIZERS``.
        num_updates: length of the schedule, in updates.
        schedule: key of ``SCHEDULES``.
        numbers: values of ``optimizer_numbers(name)``; absent ones have their defaults. The numbers
            of a run's ``Hypers`` replace them.
    """

    name: str = "adamw"
    num_updates: int = 1
    schedule: str = "constant"
    numbers: Mapping[str, int | float] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        require("num_updates", self.num_updates, self.num_updates >= 1, "at least 1")
        known = ", ".join(map(repr, SCHEDULES))
        require("schedule", self.schedule, self.schedule in SCHEDULES, f"one of {known}")
        declared = optimizer_numbers(self.name)
        for name, value in self.numbers.items():
            require(name, value, name in declared, f"one of {self.name}'s numbers, {[*declared]}")
            require(name, value, declared[name].allows(value), declared[name].allowed)


def make_optimizer(
    config: OptimizerConfig, hypers: Hypers
) -> optax.GradientTransformationExtraArgs:
    """The optimizer of one run; its update takes ``loss_of``, ``key``, ``clip``; most ignore them.

    Args:
        config: the options that all runs share.
        hypers: the run's own numbers, without the run axis; may be traced, since the structure of
            the optimizer's state does not depend on them.
    """
    method = OPTIMIZERS[config.name]
    defaults = {name: n.default for name, n in optimizer_numbers(config.name).items()}
    numbers: dict[str, ArrayLike] = {**defaults, **config.numbers, **hypers.optimizer}
    pace = {name: numbers.pop(name) for name in schedule_numbers()}
    clip = {name: numbers.pop(name) for name in numbers_of(clipped)}

    def rate(step: ArrayLike) -> jax.Array:
        return learning_rate(step, config.num_updates, config.schedule, **pace)

    return optax.with_extra_args_support(clipped(method(rate, **numbers), **clip))
