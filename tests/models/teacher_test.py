"""The world of a network in files: from a folder to a training on its sentences."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from configs.flatness import masked
from el_jax import build
from el_jax.models import PRESETS, transformer
from el_jax.models.pretrained import save_pretrained
from el_jax.models.teacher import language_model
from el_jax.process.compilation import Once
from el_jax.training.fit import fit
from el_jax.training.sinks import History
from el_jax.worlds import LanguageModel, restricted_model

BEGIN, LENGTH = 5, 3
SIZES = {"vocab_size": 9, "width": 8, "num_layers": 1, "num_heads": 2, "max_length": 8}


@pytest.fixture(name="folder", scope="module")
def a_folder_of_a_causal_model(tmp_path_factory):
    config = dataclasses.replace(PRESETS["gpt2"], **SIZES)
    params = jax.tree.map(lambda leaf: 8 * leaf, Once(transformer(config).init)(jax.random.key(3)))
    folder = tmp_path_factory.mktemp("teacher")
    save_pretrained(folder, config, params)
    return folder, transformer(config), params


def test_words_are_the_tokens_that_the_model_says_most(folder):
    path, model, params = folder
    numbers = {"num_words": 4, "begin": BEGIN, "length": LENGTH}
    world = language_model(path=str(path), counted=600, **numbers)  # more than are drawn at once
    unrestricted = LanguageModel(model.apply, params, np.arange(9), BEGIN, LENGTH)
    said = np.asarray(Once(lambda key: unrestricted.sample(key, 600).tokens)(jax.random.key(0)))
    counts = np.bincount(said.ravel(), minlength=9)
    expected = restricted_model(model.apply, params, counts, **numbers)
    np.testing.assert_array_equal(world.words, expected.words)
    assert BEGIN not in world.words
    tokens = jnp.array([[0, 1, 3], [2, 2, 0]])
    ours, theirs = Once(lambda: [w.log_probability(tokens) for w in (world, expected)])()
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"begin": 9}, "begin=9: must be in 0..8"),
        ({"num_words": 9}, "num_words=9: must be in 1..8, the tokens that occur"),
        ({"path": "no/such"}, "no/such: no such folder"),
    ],
)
def test_a_setting_that_does_not_fit_is_one_line(folder, changes, message):
    given = {"path": str(folder[0]), "begin": BEGIN, "length": LENGTH, "num_words": 4} | changes
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        language_model(**given)
    assert "\n" not in str(error.value)


def test_a_model_that_sees_later_words_is_no_world():
    with pytest.raises(ValueError, match=r"^path='tests/models/pretrained/bert': must be a model"):
        language_model(path="tests/models/pretrained/bert")


def config_of(path):
    config = masked.get_config("world=language_model,smoke")
    numbers = {"path": str(path), "num_words": 4, "begin": BEGIN, "length": LENGTH, "counted": 64}
    config.task.world.update(**numbers)
    config.task.num_train, config.optim.warmup_steps = 64, 2
    config.train.update(num_updates=4, log_every=4, eval_every=4, checkpoint_every=4)
    return config


def test_a_masked_model_is_trained_on_its_sentences_and_measured_by_its_conditionals(folder):
    history = History()
    fit(build.build(build.parse(config_of(folder[0]))), sinks=[history])
    last = history.rows[-1]
    world = language_model(path=str(folder[0]), num_words=4, begin=BEGIN, length=LENGTH, counted=64)
    assert 0 < last["entropy"][0] < np.log(world.vocab_size)
    assert (last["kl"] > 0).all()
    assert np.isfinite(last["test_loss"]).all()
