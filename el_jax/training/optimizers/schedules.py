"""Learning-rate schedules as functions of the step whose peak and warm-up may be traced.

optax's schedules want Python numbers; here the peak and the warm-up differ between the runs of
one compiled program. At concrete numbers they agree with optax (tested).
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal, get_args

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from el_jax.numbers import Number

Decay = Callable[[Array], Any]  # fraction of the time after warm-up -> fraction of the peak
ScheduleName = Literal["constant", "linear", "cosine", "wsd"]
SCHEDULES: tuple[ScheduleName, ...] = get_args(ScheduleName)


def _wsd(fraction: ArrayLike) -> Decay:
    # warm-up, stable, decay: constant until the last `fraction` of the run, then linear to zero
    return lambda t: jnp.clip((1.0 - t) / fraction, 0.0, 1.0)


def learning_rate(
    step: ArrayLike,
    num_updates: int,
    *,
    schedule: ScheduleName = "constant",
    peak_lr: Annotated[ArrayLike, Number(1e-3, above=0, symbol="η")],
    warmup_steps: Annotated[ArrayLike, Number(0, at_least=0)],
    decay_fraction: Annotated[ArrayLike, Number(0.2, above=0, at_most=1)],
) -> Array:
    """Learning rate of update ``step`` (counted from 0).

    Linear warm-up from 0 over ``warmup_steps`` (none if 0), then one of: ``constant``; ``linear``
    to 0 at ``num_updates``; ``cosine`` to 0 at ``num_updates``; ``wsd`` (warm-up, stable, decay;
    Hu et al. 2024, arXiv 2404.06395), linear to 0 over the last ``decay_fraction`` of the updates
    after warm-up.
    """
    step = jnp.asarray(step, jnp.float32)
    warmup = jnp.asarray(warmup_steps, jnp.float32)
    warm = jnp.where(warmup > 0, jnp.minimum(step / jnp.maximum(warmup, 1.0), 1.0), 1.0)
    elapsed = jnp.clip((step - warmup) / jnp.maximum(num_updates - warmup, 1.0), 0.0, 1.0)
    decays: dict[str, Decay] = {
        "constant": jnp.ones_like,
        "linear": lambda t: 1.0 - t,
        "cosine": lambda t: 0.5 * (1.0 + jnp.cos(jnp.pi * t)),
        "wsd": _wsd(decay_fraction),
    }
    return jnp.asarray(peak_lr, jnp.float32) * warm * decays[schedule](elapsed)
