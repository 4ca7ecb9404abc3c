"""Every config file can be run, and names exactly the options that the code has."""

import dataclasses
import importlib
import inspect
import pathlib

import numpy as np
import pytest

from configs import common
from configs.el.copy import get_config
from el_jax import build
from el_jax.config import linear_ntp as ntp_settings
from el_jax.losses import TOKEN_LOSSES
from el_jax.models import TransformerConfig
from el_jax.training.fit import fit
from el_jax.training.sinks import History

ROOT = pathlib.Path(__file__).parents[1]


def files(track):
    found = sorted(ROOT.glob(f"configs/{track}/*.py"))
    return [f"configs.{track}.{path.stem}" for path in found if path.stem != "__init__"]


def train(config):
    training, history = build.build(build.parse(config)), History()
    fit(training, sinks=[history])
    return history


def tiny(name):
    config = get_config(f"loss={name},smoke")
    config.model.update(width=8, num_layers=1)
    config.task.update(padding_length=4, num_train=16)
    config.train.update(num_updates=4, log_every=2, eval_every=4, checkpoint_every=4, seeds=1)
    config.eval = {"test": 8, "test_precise": 8}
    config.train.eval_tokens = 128
    config.optim.warmup_steps = 0
    return config


def test_every_config_belongs_to_a_track():
    tracks = {path.parent.name for path in ROOT.glob("configs/*/*.py")}
    assert tracks == {"el", "flatness", "linear_ntp"}


@pytest.mark.slow  # tests/readme_test.py trains the copy task
@pytest.mark.parametrize("module", [*files("el"), *files("flatness")])
def test_every_config_trains(module):
    config = importlib.import_module(module).get_config("smoke")
    config.model.update(width=8, num_layers=1)  # tests/readme_test.py trains it at its own size
    config.train.update(num_updates=20, eval_every=20)
    history = train(config)
    assert history.steps == [10, 20]
    assert np.isfinite(history.curve("batch_loss")[1]).all()


NEEDS_A_FILE = "configs.linear_ntp.activations"  # tests/analyze_ntp_test.py gives it one


@pytest.mark.parametrize("module", [m for m in files("linear_ntp") if m != NEEDS_A_FILE])
def test_every_linear_problem_can_be_built(module):
    settings = ntp_settings.parse(importlib.import_module(module).get_config())
    assert settings.problem.num_contexts >= 3
    assert settings.trajectory.method == "gd"


@pytest.mark.slow  # tests/contract_test.py traces an update of each
@pytest.mark.parametrize("name", TOKEN_LOSSES)
def test_every_loss_trains_from_its_name(name):
    history = train(tiny(name))
    assert np.isfinite(history.curve("batch_loss")[1]).all()


@pytest.mark.parametrize("name", TOKEN_LOSSES)
def test_a_loss_section_has_the_parameters_of_the_function(name):
    parameters = inspect.signature(TOKEN_LOSSES[name]).parameters.values()
    taken = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert set(common.loss(name)) == {"name", "logit_temperature", "path"} | taken


def test_every_switch_of_the_transformer_can_be_set():
    fields = {field.name for field in dataclasses.fields(TransformerConfig)}
    keys = set(get_config().model) - {"name", "preset"}
    assert keys == fields - {"vocab_size"}  # which the task gives


@pytest.mark.parametrize(
    ("switch", "value"), [("norm", "rmsnorm"), ("gated_mlp", True), ("rotary_fraction", 1.0)]
)
def test_a_switch_overrides_its_preset(switch, value):
    config = get_config("smoke")
    config.model[switch] = value
    assert getattr(build.parse(config).model.config, switch) == value
    assert getattr(build.parse(get_config("smoke")).model.config, switch) != value


@pytest.mark.parametrize(
    ("arg", "expected"),
    [
        ("loss=e1,scale=paper", 55),
        ("loss=e1", 110),
        ("loss=e1,strings_per_window=8", 440),
        ("loss=e1,long,scale=paper", 2013),
    ],
)
def test_contexts_are_the_papers(arg, expected):
    assert build.parse(get_config(arg)).task.window_length == expected


@pytest.mark.parametrize(
    ("arg", "message"),
    [
        ("colour=red", "colour"),
        ("smoke=maybe", "true or false"),
        ("strings_per_window=two", "int"),
        ("scale=huge", "small or paper"),
        ("loss=e9", "cross_entropy"),
        ("loss=focall", "did you mean 'focal'"),
        ("model=gpt3", "did you mean 'gpt2'"),
        ("optimizer=adam", "did you mean 'adamw'"),
    ],
)
def test_bad_argument_is_named(arg, message):
    with pytest.raises(ValueError, match=message):
        get_config(arg)
