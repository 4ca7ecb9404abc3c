"""Learning-rate schedules: linear warm-up to a peak, then a function that the config names.

A schedule is one function, ``schedule(elapsed, *, <numbers>) -> fraction of the peak``, and one
line of ``SCHEDULES``; ``elapsed`` is the fraction of the updates after warm-up that have been made.
It may differ between the runs of one compiled program. Optax's own schedules may not, since they
take their length as a Python number; but an optax schedule of length 1 is such a function.
"""

from collections.abc import Callable
from typing import Annotated

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from el_jax.numbers import Number, numbers_of


def constant(elapsed: Array) -> Array:
    """The peak throughout."""
    return jnp.ones_like(elapsed)


def linear(elapsed: Array) -> Array:
    """Linear to 0 at the end."""
    return 1.0 - elapsed


def cosine(elapsed: Array) -> Array:
    """Half a cosine, to 0 at the end."""
    return 0.5 * (1.0 + jnp.cos(jnp.pi * elapsed))


def wsd(
    elapsed: Array, *, decay_fraction: Annotated[ArrayLike, Number(0.2, above=0, at_most=1)]
) -> Array:
    """Warm-up, stable, decay (Hu et al. 2024, arXiv 2404.06395): linear to 0 over the last part."""
    return jnp.clip((1.0 - elapsed) / decay_fraction, 0.0, 1.0)


def wsd_inverse(
    elapsed: Array, *, decay_fraction: Annotated[ArrayLike, Number(0.2, above=0, at_most=1)]
) -> Array:
    """WSD whose decay is linear in 1 / rate, to a tenth (Wen et al. 2024, arXiv 2410.05192)."""
    return wsd_s(elapsed, decay_fraction=decay_fraction, cycles=1)


def wsd_s(
    elapsed: Array,
    *,
    decay_fraction: Annotated[ArrayLike, Number(0.2, above=0, at_most=1)],
    cycles: Annotated[ArrayLike, Number(2, at_least=1)],
) -> Array:
    """WSD-S of the same paper: the decay ends each of several equal cycles, then the peak returns.

    A decay takes its fraction of all updates up to the end of its cycle, except any that would fall
    into the cycle before; its least rate is that of the first update after the cycle's end. So one
    training yields models for several budgets.
    """
    ends = jnp.maximum(jnp.ceil(elapsed * cycles), 1.0) / cycles
    decayed = jnp.clip(1.0 - (ends - elapsed) / (decay_fraction * ends), 0.0, 1.0)
    return 1.0 / (1.0 + 9.0 * decayed)


SCHEDULES: dict[str, Callable[..., Array]] = {
    "constant": constant,
    "linear": linear,
    "cosine": cosine,
    "wsd": wsd,
    "wsd_inverse": wsd_inverse,
    "wsd_s": wsd_s,
}


def learning_rate(
    step: ArrayLike,
    num_updates: int,
    schedule: str,
    *,
    peak_lr: Annotated[ArrayLike, Number(1e-3, above=0, symbol="η")],
    warmup_steps: Annotated[ArrayLike, Number(0, at_least=0)],
    **numbers: ArrayLike,
) -> Array:
    """Learning rate of update ``step``, counted from 0.

    Args:
        step: number of earlier updates.
        num_updates: length of the whole training.
        schedule: key of ``SCHEDULES``.
        peak_lr: the rate after warm-up.
        warmup_steps: updates of linear warm-up from 0; none if 0.
        **numbers: the numbers of every schedule; the named one takes its own.
    """
    step = jnp.asarray(step, jnp.float32)
    warmup = jnp.asarray(warmup_steps, jnp.float32)
    warm = jnp.where(warmup > 0, jnp.minimum(step / jnp.maximum(warmup, 1.0), 1.0), 1.0)
    elapsed = jnp.clip((step - warmup) / jnp.maximum(num_updates - warmup, 1.0), 0.0, 1.0)
    method = SCHEDULES[schedule]
    own = {name: numbers[name] for name in numbers_of(method)}
    return jnp.asarray(peak_lr, jnp.float32) * warm * method(elapsed, **own)


def schedule_numbers() -> dict[str, Number]:
    """Peak, warm-up and the numbers of every schedule; every config has them all.

    Raises:
        TypeError: two schedules declare a number of the same name differently.
    """
    found = numbers_of(learning_rate)
    for name, schedule in SCHEDULES.items():
        for key, number in numbers_of(schedule).items():
            if found.setdefault(key, number) != number:
                raise TypeError(f"schedule {name}: another one declares {key} with other values")
    return found
