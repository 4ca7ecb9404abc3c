"""A table of the values that a config may not have, with the line that a user reads.

tests/process/launch_test.py tests the command lines around it, and tests/config/malformed_test.py
tries any value of any key.
"""

import math

import pytest

from configs.el.copy import get_config
from configs.linear_ntp.random import get_config as random_problem
from el_jax import build
from el_jax.config import linear_ntp, training
from el_jax.process.errors import ConfigError
from tests.config.changes import set_value

NAN, INF = math.nan, math.inf
NUMBER, WHOLE, POSITIVE = "must be a finite number", "must be an integer", "must be a positive"
NOT_NEGATIVE, ABOVE_0 = "must be at least 0", "must be above 0"
LOOKS_AHEAD = "must be True: a model that sees later tokens reads"

# Arguments of configs/el/copy.py, dotted key, its value, and a part of the message.
TRAINING = [
    ("loss=e1", "optim.peak_lr", -1.0, ABOVE_0),
    ("loss=e1", "optim.peak_lr", NAN, NUMBER),
    ("loss=e1", "optim.warmup_steps", 41, "must be at most train.num_updates=40"),
    ("loss=e1", "optim.name", "adam2", "; did you mean 'adamw'?"),  # experiments add theirs
    ("loss=e1", "optim.schedule", "step", "must be one of 'constant', 'linear', 'cosine', 'wsd'"),
    ("loss=e1", "optim.b1", 1.0, "must be in [0, 1)"),
    ("loss=e1", "optim.epsilon", 0.0, ABOVE_0),
    ("loss=e1", "optim.weight_decay", -0.1, NOT_NEGATIVE),
    ("loss=e1", "optim.clip_norm", -1.0, NOT_NEGATIVE),
    ("optimizer=sgd", "optim.momentum", 1.0, "must be in [0, 1)"),
    ("loss=e1", "model.name", "rnn", "must be one of bidirectional_lstm, "),
    ("loss=e1", "model.width", -5, POSITIVE),
    ("loss=e1", "model.width", "wide", WHOLE),
    ("loss=e1", "model.num_heads", 3, "must be a divisor of width=16"),
    ("loss=e1", "model.num_kv_heads", 3, "must be a divisor of num_heads=2"),
    ("loss=e1", "model.mlp_ratio", 0.01, "must be large enough for one entry of width=16"),
    ("loss=e1", "model.preset", "gpt5", "must be one of bert, "),
    ("loss=e1", "model.preset", "bert", LOOKS_AHEAD),
    ("loss=e1", "model.causal", False, LOOKS_AHEAD),
    ("loss=e1", "model.norm", "batchnorm", "must be one of 'layernorm', 'rmsnorm'"),
    ("loss=e1", "model.activation", "tanh", "must be one of 'gelu', 'gelu_tanh', 'relu', 'silu'"),
    ("loss=e1", "model.rotary_fraction", 0.0, "must be in (0, 1]"),
    ("loss=e1", "model.residual_dropout", 1.0, "must be in [0, 1)"),
    ("loss=e1", "model.dtype", "float16", "must be one of 'float32', 'bfloat16'"),
    ("loss=e1", "model.attention_impl", "cudnn", "must be 'xla' where dtype is"),
    ("model=gpt2", "model.max_length", 12, "must be at least the task's window of 13 tokens"),
    ("model=lstm", "model.num_layers", 0, POSITIVE),
    ("model=lookup_table", "model.order", 0, "must be at least 1, and small enough for"),
    ("model=lookup_table", "loss.path", "gram", "must be 'auto' or 'plain' for the model"),
    ("loss=e1", "task.name", "copi", "; did you mean 'copy'?"),
    ("loss=e1", "loss.name", "E2", "; did you mean 'e2'?"),
    ("loss=e1", "task.easy_fraction", 1.5, "must be in [0, 1]"),
    ("loss=e1", "task.strings_per_window", 3, "must be a divisor of strings_per_update=8"),
    ("loss=e1", "task.num_train", 401, "must be 0 or a multiple of strings_per_update=8"),
    ("loss=e1", "task.copy_length", 0, "must be at least 1"),
    ("loss=e1", "task.grouping", "random", "must be one of ('static', 'reshuffled')"),
    ("loss=e1", "task.alphabet_size", 26.5, WHOLE),
    ("loss=e1", "task.doc_mask", 1, "must be True or False"),
    (
        "loss=e1",
        "loss.name",
        "e9",
        "must be one of comp_sum, confidence_penalty, cross_entropy",
    ),
    ("loss=e1", "loss.lam", -1.0, NOT_NEGATIVE),
    ("loss=e1", "loss.lam", "strong", NUMBER),
    ("loss=e1", "loss.logit_temperature", 0.0, ABOVE_0),
    ("loss=confidence_penalty", "loss.path", "gram", "must be 'auto' or 'plain' for the loss con"),
    ("loss=e1", "loss.path", "fast", "must be one of 'auto', 'plain', 'gram', 'chunked'"),
    ("loss=e2", "loss.variance", "some", "must be one of 'all', 'sample', 'others'"),
    ("loss=e3", "loss.reduction", "max", "must be one of 'sum', 'mean'"),
    ("loss=label_smoothing", "loss.smoothing", 1.0, "must be in [0, 1)"),
    ("loss=focal", "loss.gamma", -1.0, NOT_NEGATIVE),
    ("loss=poly1", "loss.epsilon", -1.5, "must be at least -1"),
    ("loss=comp_sum", "loss.tau", 2.5, "must be in [0, 2]"),
    ("loss=dice", "loss.alpha", 1.0, "must be in (0, 1)"),
    ("loss=logit_penalty", "loss.beta", INF, NUMBER),
    ("loss=e1", "train.num_updates", 0, "must be a positive multiple of log_every=10"),
    ("loss=e1", "train.num_updates", True, WHOLE),
    ("loss=e1", "train.eval_every", 15, "must be a positive multiple of log_every=10"),
    ("loss=e1", "train.log_every", 0, "must be at least 1"),
    ("loss=e1", "train.seeds", 0, "must be at least 1"),
    ("loss=e1", "train.run_axis", "loop", "must be one of 'vmap', 'map'"),
    ("loss=e1", "train.max_runs_at_once", -1, NOT_NEGATIVE),
    ("loss=e1", "train.eval_last", ("other",), "must be one of test, test_precise"),
    ("loss=e1", "train.probes", ("other",), "must be one of attention_mass, belief, curvature"),
    ("loss=e1", "eval.test", 0, "must be an integer, at least 1"),
    ("strings_per_window=4", "eval.test_precise", 6, "strings_per_window=4: must be a divisor"),
    ("loss=e1", "seed", -1, "must be an integer in [0, 2**31)"),
    ("loss=e1", "sweep.loss.lam", 3, "must be a tuple"),
    ("loss=e1", "sweep.loss.lam", (1.0, -2.0), NOT_NEGATIVE),
    ("loss=e1", "sweep.optim.peak_lr", (1e-3, -1.0), ABOVE_0),
    ("loss=e1", "sweep.loss.lam", (2.0, 1.0, 2), "must have 2.0 once"),
    ("loss=e1", "train.profile", (3, 10), "must be empty, or hold a multiple of log_every=10"),
    ("loss=e1", "train.profile", (31, 50), "below its end and num_updates=40"),
    ("loss=e1", "sweep.optim.warmup_steps", (0, 50), "must be at most train.num_updates=40"),
    ("loss=e1", "parallel", "mpi", "must be one of jit, pmap"),
]
# Arguments of configs/el/copy.py, dotted keys in no section, and the beginning of the message.
UNKNOWN = [
    ("loss=e1", "nope", "unknown key; config has eval, loss, model, optim"),
    ("loss=e1", "optim.lr", "unknown key; did you mean 'peak_lr'?"),
    ("loss=e1", "loss.b", "unknown key; config.loss has lam, logit_temperature, name, path"),
    ("loss=e1", "sweep.loss.b", "unknown key; config.sweep.loss has lam"),
    ("loss=e1", "eval.train", "must be a name of small letters"),
]
# Keys of configs/linear_ntp/random.py; some are refused by the problem's builder, not the section.
LINEAR = [
    ("problem.support_size", 10, "config.problem: support_size=10: must be at least 1"),
    ("problem.seed", -1, "config.problem.seed=-1: must be at least 0"),
    ("problem.name", "rndom", "config.problem.name='rndom': must be one of activations, "),
    ("trajectory.method", "gdd", "config.trajectory.method='gdd': must be None or one of "),
    ("trajectory.step_size", -1.0, "config.trajectory.step_size=-1.0: must be positive"),
    ("trajectory.num_steps", 0, "config.trajectory.num_steps=0: must be at least 1"),
    ("norms", ("taxicab",), "config.norms=('taxicab',): must be a tuple"),
]


def message(parse, config, path, value):
    set_value(config, path, value)
    with pytest.raises(ConfigError) as raised:
        parse(config)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(("arg", "path", "value", "said"), TRAINING)
def test_a_value_is_named_with_what_is_allowed(arg, path, value, said):
    line = message(parsed_and_built, get_config(f"{arg},smoke"), path, value)
    named, _, rest = line.partition(": must")
    assert line.startswith("config.")
    assert path.rsplit(".", 1)[-1] in named
    assert repr(value) in named or any(repr(one) in named for one in listed(value)), line
    assert said in f"must{rest}" or said in line, line


def listed(value):
    """The values of a sweep, since a message names only the first wrong one."""
    return value if isinstance(value, tuple) else ()


def parsed_and_built(config):
    """Parse and build, since some values prove wrong only when the parts of a training meet."""
    return build.make_spec(training.parse(config))


def parsed_and_made(config):
    return linear_ntp.parse(config).problem.make()


@pytest.mark.parametrize(("arg", "path", "said"), UNKNOWN)
def test_a_key_is_named_with_those_there_are(arg, path, said):
    line = message(training.parse, get_config(f"{arg},smoke"), path, 1.0)
    assert line.startswith(f"config.{path}: {said}")


@pytest.mark.parametrize(
    ("section", "name", "key", "argument"),
    [
        ("loss", "e3", "lam", "loss"),
        ("optim", "sgd", "b1", "optimizer"),
        ("model", "lstm", "", "model"),
    ],
)
def test_a_name_without_its_numbers_says_how_to_choose_it(section, name, key, argument):
    line = message(training.parse, get_config("loss=e1,smoke"), f"{section}.name", name)
    assert line.startswith(f"config.{section}.{key}")
    assert "unknown key" in line
    assert f"--config=FILE:{argument}=NAME" in line


@pytest.mark.parametrize(("path", "value", "said"), LINEAR)
def test_values_of_a_linear_problem_likewise(path, value, said):
    assert message(parsed_and_made, random_problem(), path, value).startswith(said)
