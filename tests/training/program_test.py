import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax import build
from el_jax.losses import e2
from el_jax.training.fit import Stopped, fit
from el_jax.training.metrics import summarise
from el_jax.training.sinks import History
from tests.training.small_training import built, small_config


def trained(config, num_updates=20):
    program = built(config).program
    state = program.init()
    for _ in range(num_updates // 10):  # dispatches of as many updates as in other tests
        state, _, _ = program.advance(state, 10)
    return jax.device_get(state)


def run_of(state, i):
    return jax.tree.map(lambda leaf: leaf[i], state.params)


def assert_close(ours, theirs, tolerance):
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


def comparable(**train):
    """A training whose programs differ by rounding alone.

    With epsilon=1e-8, AdamW takes the rounding of a zero gradient (of a key's bias) for a slope.
    """
    config = small_config(**train)
    config.optim.epsilon = 1e-6
    return config


@pytest.fixture(scope="module")
def solo():
    config = comparable(seeds=1, run_axis="map")
    config.seed = 1
    return trained(config)


def test_map_is_bit_equal_to_each_run_alone(solo):
    together = trained(comparable(seeds=3, run_axis="map"))
    assert_close(run_of(together, 1), run_of(solo, 0), 0.0)
    other = jax.tree.leaves(run_of(together, 0))[0]
    assert not np.array_equal(other, jax.tree.leaves(run_of(solo, 0))[0])


def test_vmap_and_sweep_agree_with_each_run_alone(solo):
    config = comparable(seeds=2, run_axis="vmap")
    config.sweep.loss.lam = (0.5, 2.0)
    config.sweep.optim.warmup_steps = (0, 5)
    together = trained(config)
    runs = build.parse(config).rows
    place = [(r["lam"], r["warmup_steps"], r["seed"]) for r in runs].index((2.0, 0, 1))
    assert_close(run_of(together, place), run_of(solo, 0), 1e-6)
    changed = [i for i, r in enumerate(runs) if r["seed"] == 1 and i != place]
    kernel = jax.tree.leaves(run_of(solo, 0))[0]
    for i in changed:  # another lambda or warm-up gives other parameters
        assert np.abs(jax.tree.leaves(run_of(together, i))[0] - kernel).max() > 1e-4


def test_exactly_the_updates_asked_for(solo):
    counts = [leaf for leaf in jax.tree.leaves(solo.opt_state) if leaf.dtype == jnp.int32]
    assert int(solo.step) == 20
    assert counts
    assert all(int(count[0]) == 20 for count in counts)


def test_two_dispatches_are_one(solo):
    config = comparable(seeds=1, run_axis="map")
    config.seed = 1
    program = built(config).program
    state, _, _ = program.advance(program.init(), 20)  # solo made 10, twice
    assert_close(jax.device_get(state).params, solo.params, 0.0)


def test_packed_strings_apart_train_as_unpacked_ones():
    states = []
    for packed in (1, 2):
        config = small_config(seeds=1)
        apart = packed > 1
        config.task.update(strings_per_window=packed, doc_mask=apart, reset_positions=apart)
        states.append(trained(config, 10))
    assert_close(states[0].params, states[1].params, 1e-5)


def test_evaluation_does_not_depend_on_how_it_is_cut():
    rows = []
    for eval_tokens in (9 * 5, 128):
        config = small_config(seeds=2, eval_tokens=eval_tokens)
        config.eval.test = 13  # not a multiple of the 5 windows at a time
        training = built(config)
        metrics = training.program.evaluate(
            training.program.init().params, training.evaluations["test"]
        )
        rows.append(summarise(jax.device_get(metrics), ("easy", "hard"), "test"))
    assert rows[0].keys() == rows[1].keys()
    for name, values in rows[0].items():
        np.testing.assert_allclose(values, rows[1][name], rtol=1e-5, atol=1e-6, err_msg=name)


def test_fit_writes_every_row_once_and_evaluates_when_due():
    training, history = built(small_config(eval_every=10)), History()
    state = fit(training, sinks=[history])
    assert int(state.step) == 20
    assert history.steps == [10, 20]
    assert [s for s, row in zip(history.steps, history.rows, strict=True) if "test_ce" in row] == [
        10,
        20,
    ]
    precise = ["test_precise_hard_accuracy" in row for row in history.rows]
    assert precise == [False, True]
    assert history.curve("batch_loss")[1].shape == (2, 2)


def test_stop_leaves_after_a_whole_dispatch():
    training, history = built(small_config()), History()
    with pytest.raises(Stopped) as raised:
        fit(training, sinks=[history], stop=lambda: 15)
    assert (raised.value.step, raised.value.signum) == (10, 15)
    assert history.steps == [10]


def test_another_loss_gives_the_training_that_its_config_would():
    trained = []
    for name in ("cross_entropy", "e2"):
        config = small_config(f"loss={name},smoke", seeds=1)
        config.loss.logit_temperature = 2.0
        training = built(config)
        if name != "e2":
            training = training.with_loss(functools.partial(e2, lam=4.0))
        state, metrics, _ = training.program.advance(training.program.init(), 10)
        trained.append(jax.device_get((state.params, metrics["loss"].mean)))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), *trained)
