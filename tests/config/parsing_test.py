"""Parsing a config makes nothing: no world, no text, no tokenizer, no file, no trace."""

import builtins
import importlib
import io
import pathlib

import jax
import pytest

from el_jax import build
from el_jax.config import linear_ntp, measure
from el_jax.config.methods import signature_of
from el_jax.tasks import running_text, text, text_source
from el_jax.worlds import WorldChoice

ROOT = pathlib.Path(__file__).parents[2]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "configs").rglob("*.py"))
    if "def get_config" in path.read_text()
]
WORLDS = [f"world={name}" for name in ("hmm", "dyck", "grammar_file", "language_model")]
MAKERS = [
    *((builtins, "open"), (io, "open"), (jax, "eval_shape"), (WorldChoice, "make")),
    *((text, "read_documents"), (running_text, "read_texts"), (text_source, "load_tokenizer")),
    *((module, "train_tokenizer") for module in (text, running_text)),
    *((linear_ntp, name) for name in ("king_james_words", "load_activations")),
]


def parse(config):
    if "problem" in config:
        return linear_ntp.parse(config)
    return (measure if "lanczos_steps" in config else build).parse(config)


@pytest.mark.parametrize(
    ("module", "argument"),
    [
        *((module, "") for module in MODULES),
        *(("configs.flatness.masked", world) for world in WORLDS),
        ("configs.el.path_star", "test_file=no/such.txt"),
        ("configs.text", "source=no/such"),
    ],
)
def test_parsing_makes_nothing(monkeypatch, module, argument):
    config = importlib.import_module(module).get_config(argument)
    if "path" in config.get("task", {}).get("world", {}):
        config.task.world.path = "no/such"
    for owner, name in MAKERS:
        monkeypatch.setattr(owner, name, lambda *_, name=name, **__: pytest.fail(f"{name} called"))
    assert parse(config)


def test_what_is_no_number_of_a_run_is_in_no_sweep():
    keys = signature_of("loss", "e2")
    assert ({*keys.numbers}, {*keys.options}) == ({"lam"}, {"variance"})
    assert {*keys.shared} == {"logit_temperature", "path"}
