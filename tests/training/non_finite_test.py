"""A NaN in one run is named, never applied, and does not affect the other runs."""

import logging

import jax
import numpy as np
import pytest

from el_jax.training.fit import Training, fit
from el_jax.training.non_finite import NonFiniteError
from el_jax.training.sinks import History
from tests.training.poisoning import PARTS, poisoned, poisoned_from
from tests.training.small_training import built, small_config

RUN, SEED, STEP = 1, 1, 7  # the second of three runs, in the midst of the first dispatch


def config_of(policy, run_axis="vmap"):
    return small_config(seeds=3, on_non_finite=policy, run_axis=run_axis, eval_every=10)


def fitted(training):
    history = History()
    state = fit(training, sinks=[history])
    return jax.device_get(state), history


def assert_equal_runs(ours, theirs, runs):
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_array_equal(np.asarray(a)[runs], np.asarray(b)[runs])


@pytest.fixture(scope="module")
def healthy():
    return fitted(poisoned(built(config_of("raise")), SEED, [], "loss"))


@pytest.mark.parametrize("part", PARTS)
def test_the_part_the_step_and_the_run_are_named(part):
    training = poisoned(built(config_of("raise")), SEED, [STEP], part)
    with pytest.raises(NonFiniteError) as raised:
        fitted(training)
    error = raised.value
    assert str(error).startswith(f"{part} is not finite at step {STEP} in run {RUN} (seed {SEED},")
    assert "1 of 3 runs" in str(error)
    assert (error.step, error.run, error.seed) == (STEP, RUN, SEED)


def test_a_stopped_run_keeps_its_last_good_update_and_the_others_every_bit(healthy, caplog):
    training = poisoned(built(config_of("stop")), SEED, [STEP], "gradient")
    with caplog.at_level(logging.WARNING):
        state, history = fitted(training)
    assert state.health.stopped_at.tolist() == [-1, STEP, -1]
    assert int(state.step) == 20
    assert_equal_runs(state.params, healthy[0].params, [0, 2])
    before, _, _ = training.program.advance(training.program.init(), STEP)
    assert_equal_runs(state.params, before.params, [RUN])
    assert_equal_runs(state.opt_state, before.opt_state, [RUN])
    for ours, theirs in zip(history.rows, healthy[1].rows, strict=True):
        for name, values in ours.items():
            np.testing.assert_array_equal(values[[0, 2]], theirs[name][[0, 2]])
            assert np.isnan(values[RUN]), name  # a stopped run has no numbers
    (message,) = caplog.messages
    assert message.startswith(f"gradient is not finite at step {STEP} in run {RUN} (seed {SEED},")
    assert message.endswith("stopped it")


def test_it_is_an_error_once_no_run_is_left():
    training = built(small_config(seeds=2, on_non_finite="stop"))
    program = poisoned_from(training.program, 10)
    with pytest.raises(NonFiniteError, match=r"at step 10 in run 0 .*2 of 2 runs"):
        fit(Training(program, training.options))


@pytest.mark.slow
def test_runs_one_after_the_other_are_poisoned_alone_too():
    state, _ = fitted(poisoned(built(config_of("stop", run_axis="map")), SEED, [STEP], "loss"))
    assert state.health.stopped_at.tolist() == [-1, STEP, -1]
    clean = fitted(poisoned(built(config_of("stop", run_axis="map")), SEED, [], "loss"))[0]
    assert_equal_runs(state.params, clean.params, [0, 2])
