"""The parts of a training that is built from a config."""

import jax
import numpy as np
import pytest

from configs.el.copy import get_config
from el_jax import build
from el_jax.process.errors import ConfigError


def config_with(arg="loss=e1,smoke", **sections):
    config = get_config(arg)
    config.model.update(width=8, num_layers=1)
    for name, values in sections.items():
        config[name].update(values)
    return config


def test_runs_carry_their_own_numbers():
    config = config_with(train={"seeds": 2})
    config.sweep.loss.lam, config.sweep.optim.warmup_steps = (0.5, 2.0), (3,)
    config.seed = 5
    hypers = build.build(build.parse(config)).program.hypers
    np.testing.assert_array_equal(hypers.seed, [5, 6, 5, 6])
    np.testing.assert_array_equal(hypers.loss["lam"], [0.5, 0.5, 2, 2])
    np.testing.assert_array_equal(hypers.optimizer["warmup_steps"], [3] * 4)
    np.testing.assert_allclose(hypers.optimizer["peak_lr"], [3e-3] * 4, rtol=1e-6)
    assert hypers.loss.keys() == {"lam"}
    assert hypers.optimizer.keys() == {"peak_lr", "warmup_steps"}


def test_a_number_of_the_loss_and_one_of_the_optimizer_may_share_a_name():
    config = config_with("loss=poly1,smoke", train={"seeds": 1})
    config.sweep.loss.epsilon, config.sweep.optim.epsilon = (0.5, 2.0), (1e-8, 1e-6)
    rows = build.parse(config).rows
    assert [(row["epsilon"], row["optim.epsilon"]) for row in rows] == [
        (0.5, 1e-8),
        (0.5, 1e-6),
        (2.0, 1e-8),
        (2.0, 1e-6),
    ]


def test_a_split_may_not_be_called_like_a_group_of_another():
    config = config_with()
    config.eval = {"test": 40, "test_hard": 40}
    config.train.eval_last = ()
    with pytest.raises(ConfigError, match=r"config\.eval\.test_hard: choose another name"):
        build.checked(build.parse(config))


def test_a_split_named_twice_is_measured_once():
    config = config_with(train={"eval_last": ("test", "test"), "seeds": 1})
    assert [*build.build(build.parse(config)).final_evaluations] == ["test"]


def test_temperature_divides_the_logits_of_the_loss_only():
    metrics = []
    for temperature in (1.0, 2.0):
        config = config_with(
            "loss=cross_entropy,smoke",
            loss={"logit_temperature": temperature},
            train={"seeds": 1, "eval_tokens": 256},
        )
        training = build.build(build.parse(config))
        params = jax.tree.map(lambda leaf: leaf * 20, training.program.init().params)
        metrics.append(training.program.evaluate(params, training.evaluations["test"]))
    plain, halved = metrics
    np.testing.assert_allclose(plain["loss"].mean, plain["ce"].mean, rtol=1e-6)
    np.testing.assert_array_equal(plain["ce"].mean, halved["ce"].mean)
    assert np.abs(halved["loss"].mean - plain["loss"].mean).max() > 0.01
