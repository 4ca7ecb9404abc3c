"""Optimizers whose learning rate and warm-up are traced numbers of each run."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import optax
from jax.typing import ArrayLike

from el_jax.runtime.errors import require
from el_jax.training import schedules
from el_jax.training.state import Hypers


@dataclasses.dataclass(frozen=True)
class OptimizerConfig:
    """Optimizer options that all runs of a training share.

    Attributes:
        name: one of ``OPTIMIZERS``.
        schedule: one of ``schedules.SCHEDULES``.
        num_updates: length of the schedule, in updates.
        decay_fraction: share of the updates over which ``wsd`` decays.
        b1: decay of the first moment (``adamw``), or the momentum (``sgd``).
        b2: decay of the second moment.
        epsilon: added to the root of the second moment.
        weight_decay: decoupled decay of matrices, never of biases or norms.
        clip_norm: largest global gradient norm; 0 means no clipping.
    """

    name: str = "adamw"
    schedule: schedules.ScheduleName = "constant"
    num_updates: int = 1
    decay_fraction: float = 0.2
    b1: float = 0.9
    b2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    clip_norm: float = 0.0

    def __post_init__(self) -> None:
        require("num_updates", self.num_updates, self.num_updates >= 1, "at least 1")
        require("decay_fraction", self.decay_fraction, 0 < self.decay_fraction <= 1, "in (0, 1]")
        require("b1", self.b1, 0 <= self.b1 < 1, "in [0, 1)")
        require("b2", self.b2, 0 <= self.b2 < 1, "in [0, 1)")
        require("epsilon", self.epsilon, 0 < self.epsilon < math.inf, "a positive number")
        for name in ("weight_decay", "clip_norm"):
            value = getattr(self, name)
            require(name, value, 0 <= value < math.inf, "a number from 0")


def _is_matrix(params: optax.Params) -> optax.Params:
    """True for matrices and tables; False for biases, even for those with one row per head."""

    def decays(path: tuple[Any, ...], leaf: jax.Array) -> bool:
        return leaf.ndim >= 2 and jax.tree_util.keystr(path[-1:], simple=True) != "bias"

    return jax.tree_util.tree_map_with_path(decays, params)


def _adamw(config: OptimizerConfig, lr: optax.Schedule) -> optax.GradientTransformation:
    return optax.adamw(
        lr,
        b1=config.b1,
        b2=config.b2,
        eps=config.epsilon,
        weight_decay=config.weight_decay,
        mask=_is_matrix,
    )


def _sgd(config: OptimizerConfig, lr: optax.Schedule) -> optax.GradientTransformation:
    return optax.chain(
        optax.add_decayed_weights(config.weight_decay, mask=_is_matrix),
        optax.sgd(lr, momentum=config.b1 or None),
    )


OPTIMIZERS: dict[str, Callable[..., optax.GradientTransformation]] = {"adamw": _adamw, "sgd": _sgd}


def make_optimizer(config: OptimizerConfig, hypers: Hypers) -> optax.GradientTransformation:
    """The optimizer of one run.

    Args:
        config: the options that all runs share.
        hypers: the run's own numbers, without the run axis; may be traced, since the structure of
            the optimizer's state does not depend on them.
    """

    def lr(step: ArrayLike) -> jax.Array:
        return schedules.learning_rate(
            step,
            schedule=config.schedule,
            peak_lr=hypers.peak_lr,
            warmup_steps=hypers.warmup_steps,
            num_updates=config.num_updates,
            decay_fraction=config.decay_fraction,
        )

    optimizer = OPTIMIZERS[config.name](config, lr)
    if config.clip_norm > 0:
        return optax.chain(optax.clip_by_global_norm(config.clip_norm), optimizer)
    return optimizer
