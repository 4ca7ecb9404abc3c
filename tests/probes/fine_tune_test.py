"""Fine-tuning of a model solved by hand and of a transformer, and its refusal of mistakes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.models import transformer
from el_jax.probes.fine_tune import FineTuning, fine_tune
from el_jax.process.compilation import Once
from el_jax.tasks import MaskedWords
from el_jax.types import ModelFns
from el_jax.worlds import choose_world
from tests.models.tiny_models import bert_of

TASK = MaskedWords(world=choose_world("hmm", {"num_states": 4, "vocab_size": 8, "length": 4}))
KEY = jax.random.key(0)
WINDOWS = TASK.whole(TASK.downstream_set(400).tokens)
FIRST_WORD = np.asarray(WINDOWS.tokens[:, 1])  # after CLS
QUICK = FineTuning(num_epochs=60, batch_size=40, peak_lr=1e-2)


def bert():
    """A small transformer and its parameters at the start."""
    model = transformer(bert_of(TASK))
    return model, Once(model.init)(KEY)


def table():
    """A model whose first vector is the same in every window and so predicts nothing."""

    def features(params, batch):
        return params["rows"][batch.tokens]

    return ModelFns(lambda key: {"rows": jnp.ones((TASK.vocab_size, 3))}, None, features=features)


def test_the_network_learns_what_its_first_vector_does_not_tell():
    model, params = bert()
    tuned = fine_tune(model, params, WINDOWS, FIRST_WORD, 8, KEY, recipe=QUICK)
    assert tuned.mean > 0.95


def test_where_all_windows_look_alike_the_most_frequent_class_is_told():
    model = table()
    rare = np.random.default_rng(0).random(400) < 0.2
    found = fine_tune(model, model.init(KEY), WINDOWS, rare.astype(int), 2, KEY, recipe=QUICK)
    assert abs(found.mean - 0.8) < 3 * (0.8 * 0.2 / 160) ** 0.5
    assert 0 < found.sem < 0.1


def test_one_key_gives_one_accuracy_and_params_stay():
    model, params = bert()
    before = jax.tree.map(np.array, params)
    recipe = FineTuning(num_epochs=1, batch_size=40)
    first, second, other = (
        fine_tune(model, params, WINDOWS, FIRST_WORD, 8, key, recipe=recipe)
        for key in (KEY, KEY, jax.random.key(1))
    )
    assert first == second != other
    jax.tree.map(np.testing.assert_array_equal, before, params)


def test_the_rate_rises_and_falls_to_0():
    params = {"w": jnp.ones(1)}
    optimizer = FineTuning(warmup=0.2, peak_lr=0.5, weight_decay=0.0).optimizer(10)
    state, sizes = optimizer.init(params), []
    update = Once(optimizer.update)
    for _ in range(11):
        step, state = update({"w": jnp.ones(1)}, state, params)
        sizes.append(-float(step["w"][0]))
    expected = [0.0, 0.25, *(0.5 * (1 - k / 8) for k in range(9))]
    np.testing.assert_allclose(sizes, expected, atol=1e-4)


def test_a_batch_larger_than_a_split_is_one_line():
    model, params = bert()
    recipe = FineTuning(batch_size=128)
    with pytest.raises(ValueError, match="batch_size=128: must be at most the 120 train"):
        fine_tune(model, params, WINDOWS, FIRST_WORD, 8, KEY, recipe=recipe)
