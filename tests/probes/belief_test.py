"""Belief states in hidden states: known maps of them, and a network that holds none."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.models import TransformerConfig, transformer
from el_jax.models.look import look
from el_jax.probes import belief
from el_jax.probes.belief import explained
from el_jax.process.compilation import Once
from el_jax.tasks import CausalWords, MaskedWords, PaddedCopy
from el_jax.types import ModelFns
from el_jax.worlds import choose_world

TASK = CausalWords(world=choose_world("mess3", {"length": 6}))
MIX = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)


def model_of(hidden_of):
    """A model with hidden states alone, a function of the words and of one parameter."""

    def features(params, batch):
        return jnp.pad(hidden_of(params, batch.tokens[:, 1:]), ((0, 0), (1, 0), (0, 0)))

    return ModelFns(lambda key: jnp.zeros(()), lambda *_: None, features=features)


def measured(hidden_of, params):
    return belief(TASK, model_of(hidden_of), num=512).of_params(jnp.asarray(params))


def believed(params, tokens):
    return TASK.world.make().belief(tokens) @ MIX + params


def test_an_affine_image_of_the_belief_explains_all_of_it_in_every_run():
    found = measured(believed, [0.0, 3.0])
    np.testing.assert_allclose(found["belief_r2"], 1, atol=1e-3)


def test_all_layers_of_a_transformer_have_at_least_what_the_last_has_and_what_the_word_has():
    config = TransformerConfig(
        vocab_size=TASK.vocab_size, width=16, num_layers=2, num_heads=2, causal=True
    )
    model = transformer(config)
    params = Once(jax.vmap(model.init))(jax.random.split(jax.random.key(1), 2))
    found = belief(TASK, model, num=1024).of_params(params)
    assert (found["belief_r2_of_layers"] > found["belief_r2"] - 0.01).all()
    assert (found["belief_r2_of_layers"] > found["belief_r2_of_word"]).all()  # in the first stream

    @Once
    def expected(params):
        sentences = TASK.test_set(1024)
        hidden = jnp.concatenate([*look(model, params, TASK.pack(sentences)).residual], axis=-1)
        return explained(hidden[:, 1:-1], TASK.world.make().belief(sentences.tokens)[:, :-1])

    one = jax.tree.map(lambda leaf: leaf[1], params)
    np.testing.assert_allclose(found["belief_r2_of_layers"][1], expected(one), atol=1e-3)


def test_no_two_batches_of_lapack_calls_are_side_by_side():
    """They may hang: see el_jax/process/README.md."""
    config = TransformerConfig(
        vocab_size=TASK.vocab_size, width=16, num_layers=1, num_heads=2, causal=True
    )
    model = transformer(config)
    params = jax.eval_shape(jax.vmap(model.init), jax.random.split(jax.random.key(1), 3))
    traced = str(jax.make_jaxpr(belief(TASK, model, num=64).of_params)(params))
    values = re.findall(r"(\w+):f32\[([\d,]*)\] \w+:f32\S* \w+:f32\S* = svd\[", traced)
    assert len(values) == 2  # for the last layer, and for all
    assert all("," not in shape for _, shape in values)  # singular values of one matrix each


def test_the_word_alone_explains_what_it_explains():
    def words(params, tokens):
        return jax.nn.one_hot(tokens, 3) + params

    found = measured(words, [0.0])
    np.testing.assert_allclose(found["belief_r2"], found["belief_r2_of_word"], atol=1e-4)
    assert 0.3 < found["belief_r2"][0] < 0.98


def test_what_is_left_is_a_multiple_of_what_fresh_networks_leave():
    def blurred(params, tokens):
        """Beliefs with noise that the parameter, 0 in fresh networks, removes."""
        noise = jax.random.normal(jax.random.key(1), (*tokens.shape, 8))
        return TASK.world.make().belief(tokens) @ MIX + (1 - params) * noise

    found = measured(blurred, [0.0, 0.5, 1.0])
    np.testing.assert_allclose(found["belief_r2_untrained"], found["belief_r2"][0], rtol=1e-5)
    expected = (1 - found["belief_r2"]) / (1 - found["belief_r2"][0])
    np.testing.assert_allclose(found["belief_left"], expected, rtol=1e-4)
    assert found["belief_left"][2] < 0.01


@pytest.mark.parametrize("seed", [5, 145])
def test_directions_without_digits_do_no_harm(seed):
    """Three of 128 directions explain everything; normal equations found .72 and .83 of it here."""
    rng = np.random.default_rng(seed)
    y = rng.standard_normal((100, 9, 3)).astype(np.float32)
    x = y @ rng.standard_normal((3, 128)) + 5e-4 * rng.standard_normal((100, 9, 128))
    found = jax.jit(explained)(jnp.asarray(x, jnp.float32), jnp.asarray(y))
    np.testing.assert_allclose(found, 1, atol=1e-4)


def test_noise_explains_nothing_on_sentences_that_the_map_has_not_seen():
    def noise(params, tokens):
        return jax.random.normal(jax.random.key(1), (*tokens.shape, 8)) + params

    assert abs(measured(noise, [0.0])["belief_r2"][0]) < 0.03


def test_share_explained_is_that_of_least_squares():
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((40, 3, 4)), rng.standard_normal((40, 3, 2))
    y += x[..., :2]
    seen, new = (
        [a[part].reshape(-1, a.shape[-1]) for a in (x, y)] for part in (slice(20), slice(20, 40))
    )
    ones = np.ones((60, 1))
    map_, *_ = np.linalg.lstsq(np.hstack([seen[0], ones]), seen[1], rcond=None)
    left = new[1] - np.hstack([new[0], ones]) @ map_
    expected = 1 - np.square(left).sum() / np.square(new[1] - new[1].mean(0)).sum()
    found = explained(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32))
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("task", "model", "said"),
    [
        (PaddedCopy(), model_of(believed), "needs the task causal, not PaddedCopy"),
        (MaskedWords(world=TASK.world), model_of(believed), "needs the task causal"),
        (
            CausalWords(world=choose_world("pcfg", {})),
            model_of(believed),
            "needs a hidden Markov model, not",
        ),
        (TASK, model_of(believed)._replace(features=None), "needs a model with hidden states"),
    ],
)
def test_what_it_is_not_for_is_named(task, model, said):
    with pytest.raises(ValueError, match=said):
        belief(task, model)
