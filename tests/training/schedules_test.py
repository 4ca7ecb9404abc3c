"""Learning rates compared with optax's, and a traced peak and warm-up, which optax lacks."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from el_jax.numbers import Number
from el_jax.training.optimizers.schedules import SCHEDULES, learning_rate, schedule_numbers

NUM_UPDATES = 40
STEPS = np.arange(NUM_UPDATES + 5)  # five past the end
CLOSE = {"rtol": 1e-5, "atol": 1e-8}


def decayed(step, after, decaying):
    """The share of the decay that is done."""
    return jnp.clip((step - (after - decaying)) / decaying, 0.0, 1.0)


def from_optax(schedule, peak_lr, warmup_steps):
    """The same schedule put together from optax's parts."""
    after = NUM_UPDATES - warmup_steps
    decaying = round(0.2 * after)
    first = after // 2 + 1  # updates of the first of two cycles, whose last has the least rate
    decays = {
        "constant": optax.constant_schedule(peak_lr),
        "linear": optax.linear_schedule(peak_lr, 0.0, after),
        "cosine": optax.cosine_decay_schedule(peak_lr, after),
        "wsd": optax.join_schedules(
            [optax.constant_schedule(peak_lr), optax.linear_schedule(peak_lr, 0.0, decaying)],
            [after - decaying],
        ),
        "wsd_inverse": lambda step: peak_lr / (1 + 9 * decayed(step, after, decaying)),
        "wsd_s": optax.join_schedules(  # a schedule counts from where it is joined
            [
                lambda step: peak_lr / (1 + 9 * decayed(step, after / 2, decaying / 2)),
                lambda step: peak_lr / (1 + 9 * decayed(step + first, after, decaying)),
            ],
            [first],
        ),
    }
    if not warmup_steps:
        return decays[schedule]
    warmup = optax.linear_schedule(0.0, peak_lr, warmup_steps)
    return optax.join_schedules([warmup, decays[schedule]], [warmup_steps])


def rates(schedule, peak_lr, warmup_steps, **options):
    options = {"decay_fraction": 0.2, "cycles": 2, **options}
    return learning_rate(
        STEPS,
        NUM_UPDATES,
        schedule=schedule,
        peak_lr=peak_lr,
        warmup_steps=warmup_steps,
        **options,
    )


@pytest.mark.parametrize("warmup_steps", [0, 5, 10])  # the decay takes whole updates
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_equals_optax_at_every_step(schedule, warmup_steps):
    expected = [float(from_optax(schedule, 0.3, warmup_steps)(step)) for step in STEPS]
    np.testing.assert_allclose(rates(schedule, 0.3, warmup_steps), expected, **CLOSE)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_warm_up_as_long_as_the_training_never_decays(schedule):
    np.testing.assert_allclose(
        rates(schedule, 1.0, NUM_UPDATES)[:NUM_UPDATES], STEPS[:NUM_UPDATES] / NUM_UPDATES, **CLOSE
    )


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_peak_and_warm_up_of_many_runs_are_traced(schedule):
    peaks, warmups = jnp.array([0.1, 0.2, 0.3]), jnp.array([0, 5, 20])
    together = jax.jit(jax.vmap(lambda peak, warmup: rates(schedule, peak, warmup)))(peaks, warmups)
    for row, peak, warmup in zip(together, peaks.tolist(), warmups.tolist(), strict=True):
        np.testing.assert_allclose(row, rates(schedule, peak, warmup), **CLOSE)


def test_a_schedule_of_optax_is_one_of_length_1(monkeypatch):
    halving = optax.exponential_decay(1.0, transition_steps=1, decay_rate=0.5)
    monkeypatch.setitem(SCHEDULES, "halving", halving)
    expected = optax.exponential_decay(0.3, transition_steps=30, decay_rate=0.5)(STEPS[:31])
    np.testing.assert_allclose(rates("halving", 0.3, 10)[10:41], expected, **CLOSE)


def test_a_number_means_the_same_in_all_schedules(monkeypatch):
    def held(elapsed, *, decay_fraction: Annotated[float, Number(0.5, above=0)]):
        return jnp.where(elapsed < 1 - decay_fraction, 1.0, 0.1)

    monkeypatch.setitem(SCHEDULES, "held", held)
    with pytest.raises(TypeError, match="schedule held: another one declares decay_fraction"):
        schedule_numbers()
