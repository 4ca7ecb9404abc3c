"""No model that a config accepts sees labels that come later in its window."""

import dataclasses
import itertools
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from configs.el.copy import get_config
from el_jax import build
from el_jax.models import FAMILIES
from el_jax.process.compilation import Once
from el_jax.process.errors import ConfigError
from el_jax.tasks import TASKS

SWITCHES = {
    "preset": sorted(FAMILIES),
    "causal": [None, True, False],
    "position": [None, "rope", "learned", "none"],
    "norm_placement": [None, "pre", "post"],
    "parallel_residual": [None, True, False],
    "num_kv_heads": [None, 1],
    "gated_mlp": [None, True],
    "scan_layers": [None, True],
    "head_transform": [None, True],
    "num_layers": [1, 2],
    "matmul_precision": [None, "highest"],
}
PACKINGS = list(itertools.product((1, 4), (False, True), (False, True)))


def packed(config, packing):
    config.task.update(padding_length=3, num_train=8)
    config.task.strings_per_window, config.task.doc_mask, config.task.reset_positions = packing
    return config


def parsed(switches, packing):
    """Settings of the config, or None if it is refused."""
    config = packed(get_config("smoke"), packing)
    config.model.update(width=8, num_heads=2, rotary_fraction=0.5)
    with config.model.ignore_type():
        config.model.update(switches)
    try:
        return build.checked(build.parse(config))
    except ConfigError:
        return None


def assert_answers_unseen(settings):
    """Assert that tokens after a supervised position change no bit of its logits."""
    model = build.model_of(settings)
    batch = Once(lambda: settings.task.pack(settings.task.test_set(4)))()
    rng = np.random.default_rng(0)  # a table of zeros gives the same logits everywhere
    params = jax.tree.map(
        lambda leaf: leaf + 0.1 * rng.standard_normal(leaf.shape, np.float32),
        Once(model.init)(jax.random.key(0)),
    )
    answers = Once(model.apply)
    logits = answers(params, batch)
    for slot in range(batch.supervised.shape[1]):
        later = np.arange(batch.tokens.shape[1]) > np.asarray(batch.supervised)[:, slot, None]
        others = (batch.tokens + 1) % settings.task.vocab_size
        changed = batch._replace(tokens=jnp.where(later, others, batch.tokens))
        seen = answers(params, changed)[:, slot]
        np.testing.assert_array_equal(seen, logits[:, slot], err_msg=str(settings.model))


@pytest.mark.parametrize("preset", SWITCHES["preset"])
def test_later_tokens_change_no_answer_of_an_accepted_model(preset):
    rng = random.Random(preset)
    accepted = 0
    while accepted < 2:
        drawn = {name: rng.choice(values) for name, values in SWITCHES.items()}
        settings = parsed(drawn | {"preset": preset}, rng.choice(PACKINGS))
        if settings is not None:
            accepted += 1
            assert_answers_unseen(settings)


@pytest.mark.parametrize(
    ("name", "field", "value"), [("lstm", "width", 8), ("lookup_table", "order", 2)]
)
@pytest.mark.parametrize("packing", PACKINGS)
def test_later_tokens_change_no_answer_of_other_models(name, field, value, packing):
    config = get_config(f"model={name},smoke")
    config.model[field] = value
    assert_answers_unseen(build.parse(packed(config, packing)))


def test_the_check_sees_a_model_that_looks_ahead():
    settings = parsed({"preset": "gpt_neox"}, PACKINGS[0])
    fields = settings.model.fields | {"causal": False}
    ahead = dataclasses.replace(settings.model, fields=fields)
    with pytest.raises(AssertionError):
        assert_answers_unseen(dataclasses.replace(settings, model=ahead))


@pytest.mark.parametrize("name", sorted(TASKS))
def test_tasks_say_truly_whether_their_labels_follow(name):
    task = TASKS[name]()
    batch = Once(lambda key: task.batch_at(task.train_set(), 0, key))(jax.random.key(0))
    last = batch.tokens.shape[1] - 1  # the last label of running text is outside its window
    behind = jnp.take_along_axis(batch.tokens, jnp.minimum(batch.supervised + 1, last), axis=1)
    inside = batch.supervised < last
    follows = (behind == batch.labels) | ~inside
    assert bool(follows.all() & inside.any()) is task.labels_follow
