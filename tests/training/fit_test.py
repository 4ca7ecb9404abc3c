"""A training that ends early keeps its results so far, and a sweep is compiled once."""

import logging
import signal

import jax
import numpy as np
import pytest

from el_jax.checkpoint import Checkpoints
from el_jax.training.fit import Training, fit
from el_jax.training.non_finite import NonFiniteError
from el_jax.training.sinks import History
from tests.training.poisoning import poisoned_from
from tests.training.small_training import built, small_config


def test_not_finite_leaves_the_rows_and_checkpoints_before_it(tmp_path):
    config = small_config(seeds=2, num_updates=30, checkpoint_every=10, eval_every=30)
    config.seed = 7
    training, history = built(config), History()
    program = poisoned_from(training.program, bad_step=20)
    with (
        Checkpoints(tmp_path) as checkpoints,
        pytest.raises(NonFiniteError, match=r"at step 20 in run 0 \(seed 7, peak_lr=") as raised,
    ):
        fit(Training(program, training.options), sinks=[history], checkpoints=checkpoints)
    assert "2 of 2 runs" in str(raised.value)
    assert (raised.value.step, raised.value.run, raised.value.seed) == (20, 0, 7)
    assert raised.value.exit_code == 3
    assert history.steps == [10, 20]
    with Checkpoints(tmp_path) as checkpoints:
        state = checkpoints.restore(training.program.init)
    clean, _, _ = training.program.advance(training.program.init(), 10)
    clean, _, _ = training.program.advance(clean, 10)
    jax.tree.map(np.testing.assert_array_equal, state, clean)


def test_parameters_that_the_last_update_breaks_are_seen():
    config = small_config("loss=e3,optimizer=sgd,smoke", num_updates=1, log_every=1, eval_every=1)
    config.train.checkpoint_every = 1
    config.optim.peak_lr = 3e38  # loss and gradient are finite, this rate times the gradient is not
    config.loss.b = 1e4
    training = built(config)
    with pytest.raises(NonFiniteError, match="parameter update is not finite at step 0 "):
        fit(training)


def test_a_signal_with_the_last_updates_does_not_undo_them():
    training = built(small_config())
    state = fit(training, stop=lambda: None)
    late = iter([None, signal.SIGTERM])
    same = fit(training, stop=lambda: next(late))
    jax.tree.map(np.testing.assert_array_equal, state, same)


def test_a_sweep_is_compiled_once(caplog):
    config = small_config(seeds=1)
    config.sweep.loss.lam = (0.5, 1.0)
    config.sweep.optim.update(warmup_steps=(0, 5), peak_lr=(1e-3, 1e-2))
    program = built(config).program
    state = program.init()
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        for _ in range(3):
            state, metrics, _ = program.advance(state, 10)
    compiled = [r for r in caplog.messages if "Finished XLA compilation" in r and "advance" in r]
    assert len(compiled) == 1
    assert metrics["loss"].mean.shape == (8, 2)  # runs, groups


def test_evaluations_and_checkpoints_come_at_powers_of_two_besides(tmp_path):
    config = small_config(num_updates=90, log_every=10, eval_every=30, checkpoint_every=60)
    config.train.update(eval_at="log", checkpoint_at="log", keep_checkpoints=0)
    training, history = built(config), History()
    with Checkpoints(tmp_path, keep=0) as checkpoints:
        fit(training, sinks=[history], checkpoints=checkpoints)
    steps, _ = history.curve("test_loss")
    assert [*map(int, steps)] == [10, 20, 30, 40, 60, 80, 90]
    saved = sorted(int(path.name) for path in tmp_path.iterdir() if path.name.isdigit())
    assert saved == [10, 20, 40, 60, 80, 90]
