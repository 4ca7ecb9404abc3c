"""Every config file can be run, and names exactly the options that the code has."""

import dataclasses
import importlib
import inspect
import operator
import pathlib

import numpy as np
import pytest

from configs import common
from configs.el.copy import get_config
from el_jax import build
from el_jax.config import linear_ntp as ntp_settings
from el_jax.losses import ALL_LOSSES
from el_jax.models import TransformerConfig
from el_jax.training.fit import fit
from el_jax.training.sinks import History
from experiments.el_copy_losses import run as el_copy_losses
from experiments.flat_size import run as flat_size

ROOT = pathlib.Path(__file__).parents[1]


def files(track):
    found = sorted(ROOT.glob(f"configs/{track}/*.py"))
    return [f"configs.{track}.{path.stem}" for path in found if path.stem != "__init__"]


def train(config):
    training, history = build.build(build.parse(config)), History()
    fit(training, sinks=[history])
    return history


@pytest.mark.slow  # tests/readme_test.py trains the copy task
@pytest.mark.parametrize(
    "module", [m for m in (*files("el"), *files("flatness")) if not m.endswith("measure")]
)
def test_every_config_trains(module):
    config = importlib.import_module(module).get_config("smoke")
    config.model.update(width=16, num_layers=1)  # tests/readme_test.py trains it at its own size
    config.train.update(num_updates=20, eval_every=20)
    history = train(config)
    assert history.steps == [10, 20]
    assert np.isfinite(history.curve("batch_loss")[1]).all()


NEEDS_A_FILE = "configs.linear_ntp.activations"  # tests/analyze_ntp_test.py gives it one


@pytest.mark.parametrize("module", [m for m in files("linear_ntp") if m != NEEDS_A_FILE])
def test_every_linear_problem_can_be_built(module):
    settings = ntp_settings.parse(importlib.import_module(module).get_config())
    assert settings.problem.make().num_contexts >= 3
    assert settings.trajectory.method == "gd"


@pytest.mark.parametrize("name", ALL_LOSSES)
def test_a_loss_section_has_the_parameters_of_the_function(name):
    parameters = inspect.signature(ALL_LOSSES[name]).parameters.values()
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
    assert getattr(build.parse(config).model_config, switch) == value
    assert getattr(build.parse(get_config("smoke")).model_config, switch) != value


@pytest.mark.parametrize(
    ("arg", "expected"),
    [
        ("loss=e1,scale=paper", 55),
        ("loss=e1", 55),
        ("loss=e1,scale=small", 110),
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
        ("scale=huge", "small or paper"),
        ("loss=focall", "did you mean 'focal'"),
    ],
)
def test_bad_argument_is_named(arg, message):
    with pytest.raises(ValueError, match=message):
        get_config(arg)


# ---- published settings -------------------------------------------------------------------------

# Numbers that the papers print, by config file and argument. The file says where a paper is silent.
PUBLISHED = [
    *(
        ("el.copy", f"loss={loss},scale=paper{section}", numbers | {"train.seeds": 10})
        for section, common_numbers in (
            ("", {"task.copy_length": 1, "task.padding_length": 50, "task.num_train": 400}),
            (",long", {"task.copy_length": 5, "task.padding_length": 2_000}),
        )
        for loss, own in (
            ("cross_entropy", {"optim.warmup_steps": 0}),
            ("e1", {"loss.lam": 4, "optim.warmup_steps": 1_000}),
            ("e2", {"loss.lam": 10, "optim.warmup_steps": 1_000}),
            ("e3", {"optim.warmup_steps": 1_000}),
        )
        for numbers in [
            {"model.width": 1_024, "model.num_layers": 4, "model.num_heads": 4}
            | common_numbers
            | own
        ]
    ),
    (
        "el.path_star",
        "scale=paper",
        {
            "model.num_layers": 12,
            "model.width": 384,
            "model.num_heads": 6,
            "task.num_nodes": 50,
            "optim.peak_lr": 5e-4,
            "optim.weight_decay": 0.01,
            "optim.warmup_steps": 100,
            "train.seeds": 5,
        },
    ),
    ("el.path_star", "scale=paper,loss=e1", {"loss.lam": 1, "optim.warmup_steps": 1_000}),
    (
        "flatness.masked",
        "scale=paper,world=pcfg",
        {"optim.peak_lr": 1e-3, "task.sentences_per_update": 4_096, "train.num_updates": 30_000},
    ),
    ("flatness.masked", "scale=paper,world=pcfg,size=9m", {"model.width": 192}),
    (
        "flatness.masked",
        "scale=paper,world=pcfg,optimizer=sgd",
        {"optim.momentum": 0, "optim.peak_lr": 1e-3, "optim.warmup_steps": 3_600},
    ),
    (
        "flatness.masked",
        "scale=paper,world=language_model",
        {"task.world.num_words": 2_000, "task.world.length": 24},
    ),
    (
        "flatness.masked",
        "scale=paper,world=hmm,model=bidirectional_lstm",
        {"task.world.num_states": 100, "task.world.vocab_size": 200, "task.world.length": 16},
    ),
]


@pytest.mark.parametrize(("module", "argument", "published"), PUBLISHED)
def test_the_paper_scale_has_the_published_numbers(module, argument, published):
    config = importlib.import_module(f"configs.{module}").get_config(argument)
    found = {key: operator.attrgetter(key)(config) for key in published}
    assert found == published


def test_the_small_scale_of_the_copy_task_keeps_its_own_strengths():
    assert get_config("loss=e1,scale=small").loss.lam == 2
    assert get_config("loss=e2,scale=small").loss.lam == 4


def test_the_copy_task_is_at_the_papers_protocol_unless_asked_otherwise():
    narrow, paper = get_config("loss=e1"), get_config("loss=e1,scale=paper")
    assert narrow.task == paper.task
    assert narrow.task.num_train == 400
    assert narrow.loss == paper.loss
    assert narrow.optim.b2 == paper.optim.b2
    rates = [config.optim.peak_lr * config.model.width for config in (narrow, paper)]
    np.testing.assert_allclose(*rates)


# width, heads, layers and neurons of Table 4
TABLE_4 = [
    (128, 2, 4, 512),
    (192, 3, 5, 768),
    (320, 5, 6, 1_024),
    (384, 6, 7, 2_048),
    (640, 10, 12, 3_072),
    (960, 15, 16, 4_096),
    (1_920, 30, 20, 5_120),
]


def test_networks_of_several_sizes_are_those_of_table_4():
    configs = [study.config.model for study in flat_size.studies("paper")]
    fields = ("width", "num_heads", "num_layers", "mlp_width")
    assert sorted({tuple(model[field] for field in fields) for model in configs}) == TABLE_4


def test_the_losses_have_the_curves_and_warm_ups_of_figures_4_and_5():
    assert {"test_hard_exact_match", "train_hard_exact_match"} <= set(el_copy_losses.CURVES)
    trained = {
        (study.config.loss.name, steps)
        for study in el_copy_losses.studies("paper")
        for steps in study.config.sweep.optim.warmup_steps
    }
    assert trained >= {("e1", 1_000), ("e2", 500), ("e3", 500)}
