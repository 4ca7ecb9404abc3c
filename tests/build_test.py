"""Settings that fail only in combination, and the parts of a training."""

import jax
import numpy as np
import pytest

from configs.el.copy import get_config
from el_jax import build
from el_jax.runtime.errors import ConfigError


def config_with(arg="loss=e1,smoke", **sections):
    config = get_config(arg)
    config.model.update(width=8, num_layers=1)
    for name, values in sections.items():
        config[name].update(values)
    return config


def message(config):
    with pytest.raises(ConfigError) as raised:
        build.parse(config)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    ("loss", "name", "value", "allowed"),
    [
        ("e2", "lam", -0.5, "at least 0"),
        ("e3", "b", -1.0, "at least 0"),
        ("e1", "logit_temperature", 0.0, "above 0"),
        ("label_smoothing", "smoothing", 1.0, "in [0, 1)"),
        ("focal", "gamma", -1.0, "at least 0"),
        ("poly1", "epsilon", -1.5, "at least -1"),
        ("generalised_cross_entropy", "q", 0.0, "in (0, 1]"),
        ("generalised_cross_entropy", "q", 1.5, "in (0, 1]"),
        ("sigma_damp", "temperature", 0.0, "above 0"),
        ("rescaled_square", "scale", 0.0, "above 0"),
        ("logit_penalty", "beta", float("inf"), "a finite number"),
        ("e1", "lam", "much", "a finite number"),
        ("e2", "variance", "some", "one of 'all', 'sample', 'others'"),
        ("e3", "reduction", "max", "one of 'sum', 'mean'"),
        ("e1", "path", "fast", "one of 'auto', 'plain', 'gram', 'chunked', 'remat'"),
    ],
)
def test_numbers_at_which_a_loss_makes_no_sense_are_refused(loss, name, value, allowed):
    config = config_with(f"loss={loss},smoke")
    with config.loss.ignore_type():
        config.loss[name] = value
    assert message(config) == f"config.loss.{name}={value!r}: must be {allowed}"


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("b1", 1.0, "in [0, 1)"),
        ("b2", 1.5, "in [0, 1)"),
        ("epsilon", 0.0, "above 0"),
        ("weight_decay", -0.1, "at least 0"),
        ("clip_norm", -1.0, "at least 0"),
        ("decay_fraction", 0.0, "in (0, 1]"),
        ("warmup_steps", 41, "at most train.num_updates=40"),
    ],
)
def test_numbers_no_optimizer_takes_are_refused(name, value, allowed):
    assert message(config_with(optim={name: value})) == (
        f"config.optim.{name}={value}: must be {allowed}"
    )


@pytest.mark.parametrize(
    ("section", "name", "values", "said"),
    [
        ("loss", "lam", (1.0, -2.0), "sweep.loss.lam=-2.0: must be at least 0"),
        ("optim", "peak_lr", (1e-3, 0.0), "sweep.optim.peak_lr=0.0: must be above 0"),
        ("optim", "b2", (0.5, 1.0), "sweep.optim.b2=1.0: must be in [0, 1)"),
        ("optim", "warmup_steps", (0, -1), "sweep.optim.warmup_steps=-1: must be at least 0"),
        (
            "optim", "warmup_steps", (0, 50),
            "optim.warmup_steps=50: must be at most train.num_updates=40",
        ),
        ("loss", "b", (1.0,), "sweep.loss.b: unknown key; config.sweep.loss has lam"),
    ],
)  # fmt: skip
def test_each_swept_value_is_checked_like_the_scalar_it_replaces(section, name, values, said):
    config = config_with()
    with config.unlocked():
        config.sweep[section][name] = values
    assert message(config) == f"config.{said}"


def test_learned_positions_must_reach_the_end_of_the_window():
    long_enough = {"preset": "gpt2", "num_heads": 2, "max_length": 13}
    assert build.parse(config_with(model=long_enough)).model.config.max_length == 13
    said = message(config_with(model=long_enough | {"max_length": 12}))
    assert said == (
        "config.model.max_length=12: must be at least the task's window of 13 tokens"
    )  # fmt: skip


def test_test_sets_must_fill_whole_windows():
    said = message(config_with(task={"strings_per_window": 4}, eval={"test_precise": 6}))
    assert said.startswith("config.eval.test_precise=6: ")
    assert "strings_per_window=4" in said
    assert "divisor of the 6 strings" in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"eval": {"train": 8}}, "config.eval.train: must be a name of small letters"),
        ({"eval": {"Test": 8}}, "config.eval.Test: must be a name of small letters"),
        ({"eval": {"test": 0}}, "config.eval.test=0: must be an integer, at least 1"),
        ({"eval": {"test": 1.5}}, "config.eval.test=1.5: must be an integer, at least 1"),
        ({"train": {"eval_last": ("other",)}}, "config.train.eval_last='other': must be one of te"),
        ({"train": {"probes": ("other",)}}, "config.train.probes='other': must be one of attent"),
    ],
)
def test_splits_and_probes_are_named(changes, said):
    config = config_with(train=changes.get("train", {}))
    with config.unlocked(), config.eval.ignore_type():
        config.eval.update(changes.get("eval", {}))
    assert message(config).startswith(said)


def test_probes_take_windows_of_any_number_of_strings():
    task = {"strings_per_update": 6, "strings_per_window": 3, "num_train": 12, "padding_length": 4}
    train = {"probes": ("swap", "attention_mass"), "seeds": 1}
    sizes = {"test": 6, "test_precise": 6}
    training = build.build(build.parse(config_with(task=task, train=train, eval=sizes)))
    params = training.program.init().params
    found = {k: v for probe in training.probes for k, v in probe.of_params(params).items()}
    assert found.keys() == {
        "swap_copies", "swap_undoes_shift", "attention_on_answer", "attention_on_padding"
    }  # fmt: skip
    assert all(0 <= float(values[0]) <= 1 for values in found.values())


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
        (0.5, 1e-8), (0.5, 1e-6), (2.0, 1e-8), (2.0, 1e-6)
    ]  # fmt: skip


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
