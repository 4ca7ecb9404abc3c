"""The task section of a config whose task has a world."""

import re

import pytest

from configs import by_name, common
from configs.flatness import masked
from el_jax import build
from el_jax.config.tasks import known_worlds
from el_jax.process.errors import ConfigError
from el_jax.worlds import world_kinds
from tests.config.changes import set_value


def test_a_world_is_chosen_with_its_numbers():
    task = build.parse(masked.get_config("world=hmm,smoke")).task
    assert task.world.name == "hmm"
    assert dict(task.world.numbers)["num_states"] == 12
    assert task.vocab_size == 24 + 3
    assert task.window_length == 1 + 8


@pytest.mark.parametrize("name", known_worlds())
def test_every_number_of_a_world_is_a_key_of_its_section(name):
    assert set(common.world(name)) == {"name", *world_kinds(known_worlds()[name])}


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_sgd_is_plain_and_constant_after_its_warm_up(scale):
    config = masked.get_config(f"optimizer=sgd,scale={scale}")
    assert (config.optim.momentum, config.optim.schedule) == (0.0, "constant")
    assert config.optim.warmup_steps == 0.12 * config.train.num_updates
    assert masked.get_config(f"scale={scale}").optim.schedule == "linear"
    build.parse(config)


def test_a_task_by_name_has_its_default_world():
    config = by_name.get_config("task=masked,model=budget_bert")
    assert build.parse(config).task.world.name == config.task.world.name == "pcfg"


NO_FILE = {"name": "grammar_file", "path": "no/such.txt", "length": 4}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("task.world.name", "pcgf", "='pcgf': must be one of bigram_river, dyck"),
        ("task.world.name", "dyck", "config.task.world.depth: unknown key"),
        ("task.world.depth", 40, "config.task.world.depth=40: must be in 1..16"),
        ("task.world", {"name": "dyck"}, "config.task.world.length: missing"),
        ("task.world", 3, "config.task.world=3: must be a section"),
        ("task.world", NO_FILE, "config.task.world: no/such.txt: No such file"),
    ],
)
def test_a_bad_world_is_one_line_with_field_and_value(path, value, message):
    config = masked.get_config("smoke")
    set_value(config, path, value)
    with pytest.raises(ConfigError, match=re.escape(message)) as error:
        build.checked(build.parse(config))
    assert "\n" not in str(error.value)


def test_next_words_are_asked_of_a_model_that_does_not_see_them():
    settings = build.parse(masked.get_config("task=causal,world=hmm,smoke"))
    assert settings.task.vocab_size == 24 + 2
    assert settings.model_config.causal
    config = by_name.get_config("task=causal,model=budget_bert")
    with pytest.raises(ConfigError, match=r"must be True.*sees later tokens"):
        build.parse(config)
