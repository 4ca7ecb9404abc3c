"""A run stops where its training cross-entropy first reaches a level; the others go on."""

import functools

import jax
import numpy as np
import pytest

from el_jax import build
from el_jax.config.training import identity
from el_jax.process.errors import ConfigError
from el_jax.training.fit import fit
from el_jax.training.sinks import History
from tests.training.small_training import built, small_config

LEVEL = 3.26  # nats


@functools.cache
def fitted(level, num_updates=40, rates=(1e-5, 3e-2)):
    config = small_config(seeds=1, num_updates=num_updates, eval_every=10, stop_at_ce=level)
    config.optim.schedule = "constant"
    config.sweep.optim.peak_lr = rates
    history = History()
    state = fit(built(config), sinks=[history])
    return jax.device_get(state), history


def test_it_keeps_the_parameters_and_numbers_of_that_update():
    state, history = fitted(LEVEL)
    free, unstopped = fitted(0.0)
    ce = [0.8 * row["batch_easy_ce"] + 0.2 * row["batch_hard_ce"] for row in unstopped.rows]
    slow, fast = np.transpose(ce)  # about four in five strings are easy
    step = int(10 * (1 + np.flatnonzero(fast < LEVEL)[0]))
    assert slow.min() > LEVEL
    assert 10 < step < 40
    assert state.health.stopped_at.tolist() == [-1, step]
    there, _ = fitted(0.0, num_updates=step)
    params = (state.params, free.params, there.params)
    for ours, whole, then in zip(*map(jax.tree.leaves, params), strict=True):
        np.testing.assert_array_equal(ours[0], whole[0])
        np.testing.assert_array_equal(ours[1], then[1])
    reached = [row["reached_step"][1] for row in history.rows]
    np.testing.assert_array_equal(reached, [np.nan] * (step // 10 - 1) + [step] * (5 - step // 10))
    last = history.rows[-1]
    assert np.isnan(last["reached_step"][0])
    assert last["test_easy_ce"][1] == history.rows[step // 10 - 1]["test_easy_ce"][1]


def test_a_training_ends_once_every_run_has_reached_it():
    state, history = fitted(LEVEL, rates=(3e-2,))
    (step,) = state.health.stopped_at.tolist()
    assert step < 30
    assert int(state.step) == 40
    assert history.steps == [*range(10, step + 10, 10), 40]
    (other,) = {row["test_easy_ce"][0] for row in history.rows[step // 10 - 1 :]}
    _, alone = fitted(0.0, rates=(3e-2,), num_updates=step)
    assert other == alone.rows[-1]["test_easy_ce"][0]


def test_without_a_level_there_is_no_number_of_it():
    assert "reached_step" not in fitted(0.0)[1].rows[-1]


def test_a_config_of_before_means_no_level():
    config = small_config()
    assert identity(config.to_dict())["train"].keys().isdisjoint({"stop_at_ce"})
    del config.train.stop_at_ce
    assert build.parse(config).train.stop_at_ce == 0.0
    assert identity(small_config(stop_at_ce=1.0).to_dict())["train"]["stop_at_ce"] == 1.0


def test_a_negative_level_is_refused():
    with pytest.raises(ConfigError, match=r"config.train.stop_at_ce=-1.0: must be at least 0"):
        build.parse(small_config(stop_at_ce=-1.0))
