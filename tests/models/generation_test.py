"""Tokens drawn with kept keys and values are those of the model without them."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_models import TINY, B, T, V, batch_of, random_params, random_tokens

from el_jax.models import transformer
from el_jax.models.generation import decode, generate

CAUSAL = [name for name, config in TINY.items() if config.causal]


@pytest.mark.parametrize("name", CAUSAL)
def test_logits_are_those_without_a_cache(name):
    config, params = TINY[name], random_params(TINY[name])
    prompt = random_tokens()
    tokens, logits = decode(config, params, prompt[:, :3], T - 3)
    np.testing.assert_array_equal(tokens[:, :3], prompt[:, :3])
    expected = jax.jit(transformer(config).apply)(params, batch_of(tokens))[:, 2:-1]
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    # greedy: each added token is the most probable one after those before it
    np.testing.assert_array_equal(tokens[:, 3:], expected.argmax(-1))
    assert logits.shape == (B, T - 3, V)


def test_a_prompt_is_read_in_one_pass():
    config = TINY["llama"]
    params, prompt = random_params(config), random_tokens()
    program = str(jax.make_jaxpr(decode, static_argnums=(0, 3))(config, params, prompt, 4))
    assert "length=3" in program  # one step of the loop for each added token but the first
    assert generate(config, params, prompt, 0) is prompt


def test_drawn_tokens_have_the_probabilities_of_the_softmax():
    config, draws, temperature = TINY["gpt2"], 20_000, 2.0
    params = random_params(config)
    prompt = jnp.broadcast_to(jnp.arange(3), (draws, 3))
    tokens = generate(config, params, prompt, 1, key=jax.random.key(3), temperature=temperature)
    logits = transformer(config).apply(params, batch_of(prompt[:1]))[0, -1]
    expected = jax.nn.softmax(logits / temperature)
    found = np.bincount(np.asarray(tokens[:, 3]), minlength=V) / draws
    np.testing.assert_allclose(found, expected, atol=5 / (2 * draws**0.5))  # five deviations
    assert np.abs(found - np.asarray(jax.nn.softmax(logits))).max() > 0.03


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("bert", {}, "^causal=False: must be True"),
        ("gpt2", {"num_tokens": 11}, "^14 tokens: must be at most max_length=12$"),
        ("gpt2", {"num_tokens": -1}, "^num_tokens=-1: must be at least 0$"),
        ("gpt2", {"prompt": jnp.zeros((1, 0), int)}, "^the prompt has no token"),
    ],
)
def test_what_cannot_be_continued_is_refused(name, changes, said):
    given = {"prompt": jnp.zeros((1, 3), int), "num_tokens": 1} | changes
    with pytest.raises(ValueError, match=said):
        generate(TINY[name], None, **given)


def test_rotary_positions_have_no_end():
    config = dataclasses.replace(TINY["llama"], max_length=4)
    params = random_params(config)
    assert generate(config, params, jnp.zeros((1, 3), int), 4).shape == (1, 7)
