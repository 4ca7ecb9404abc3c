"""The squared norm of dL/dlogits from statistics, compared with that of the gradient itself."""

import functools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from loss_definitions import DEFINITIONS

from el_jax.losses import (
    TOKEN_LOSSES,
    cross_entropy,
    fused_stats_and_moments,
    softmax_moments,
    squared_gradient_norm,
    token_stats,
)


def bound(name):
    return partial(TOKEN_LOSSES[name], **DEFINITIONS[name][1])


@functools.cache
def norms(name):
    """Compiled: the norm by the closed form and by differentiating the loss of the logits."""
    loss = bound(name)

    def both(logits, labels):
        gradient = jax.grad(lambda f: loss(token_stats(f, labels)).sum())(logits)
        stats, moments = token_stats(logits, labels), softmax_moments(logits, labels)
        return squared_gradient_norm(loss, stats, moments), jnp.square(gradient).sum(-1)

    return jax.jit(both)


def draw(seed, tokens=6, classes=11, scale=3.0, shift=0.0):
    rng = np.random.default_rng(seed)
    logits = scale * rng.normal(size=(tokens, classes)) + shift
    return jnp.asarray(logits), jnp.asarray(rng.integers(classes, size=tokens))


NAMES = sorted(set(TOKEN_LOSSES) - {"confidence_penalty"})  # reads an entropy: see below


@pytest.mark.parametrize("classes", [2, 11])
@pytest.mark.parametrize("name", NAMES)
def test_the_closed_form_is_the_norm_of_the_gradient(name, classes):
    with jax.enable_x64(True):
        closed, direct = norms(name)(*draw(0, classes=classes))
        # with two classes the standard score is 1 or -1, and has no gradient
        np.testing.assert_allclose(closed, direct, rtol=1e-10, atol=1e-20)


@settings(max_examples=25)
@given(
    name=st.sampled_from(NAMES),
    scale=st.floats(1e-2, 30),
    shift=st.floats(-5, 5),
    seed=st.integers(0, 2**31),
)
def test_in_float32_it_is_as_right_as_its_terms(name, scale, shift, seed):
    logits, labels = draw(seed, scale=scale, shift=shift)
    with jax.enable_x64(True):
        _, exact = norms(name)(logits.astype(jnp.float64), labels)
    closed, _ = norms(name)(logits.astype(jnp.float32), labels)
    size = 1 + np.square(logits).max(-1)
    np.testing.assert_allclose(closed, exact, rtol=1e-4, atol=float(1e-6 * size.max()))


def test_a_loss_that_reads_an_entropy_is_not_answered():
    closed, direct = norms("confidence_penalty")(*draw(0))
    assert np.isfinite(direct).all()
    assert np.isnan(closed).all()


def test_of_cross_entropy_it_keeps_its_digits_at_confident_tokens():
    logits = jnp.zeros((1, 5)).at[0, 0].set(30.0)
    label = jnp.zeros(1, jnp.int32)
    stats, moments = token_stats(logits, label), softmax_moments(logits, label)
    wrong = np.exp(-30.0)  # probability of each wrong class; p_k = 1 - 4 wrong
    found = squared_gradient_norm(cross_entropy, stats, moments)
    np.testing.assert_allclose(found, [(4 * wrong) ** 2 + 4 * wrong**2], rtol=1e-5)


def test_a_symmetric_token_at_rest_has_no_gradient():
    margin = np.log(9.0)  # label smoothing with V = 11, smoothing 11/19: p_k = 9/19
    logits = jnp.zeros((1, 11), jnp.float32).at[0, 3].set(margin)
    label = jnp.full(1, 3, jnp.int32)
    loss = partial(TOKEN_LOSSES["label_smoothing"], smoothing=11 / 19)
    stats, moments = token_stats(logits, label), softmax_moments(logits, label)
    assert squared_gradient_norm(loss, stats, moments)[0] < 1e-12


@pytest.mark.parametrize("path", ["plain", "gram", "chunked"])
@pytest.mark.parametrize("chunk", [1, 4, 64])
def test_moments_come_with_the_statistics(path, chunk):
    with jax.enable_x64(True):
        rng = np.random.default_rng(1)
        hidden, head = jnp.asarray(rng.normal(size=(6, 3))), jnp.asarray(rng.normal(size=(3, 11)))
        bias, labels = jnp.asarray(rng.normal(size=11)), jnp.asarray(rng.integers(11, size=6))
        options = {"vocab_chunk": chunk, "temperature": 2.0}
        _, moments = jax.jit(partial(fused_stats_and_moments, path=path, bias=bias, **options))(
            hidden, head, labels
        )
        logits = (np.asarray(hidden) @ np.asarray(head) + np.asarray(bias)) / 2
        weights = np.where(np.eye(11)[labels], 0, np.exp(logits))
        q = weights / weights.sum(-1, keepdims=True)
        np.testing.assert_allclose(moments.collision, np.square(q).sum(-1), rtol=1e-12)
        np.testing.assert_allclose(moments.mean_logit, (q * logits).sum(-1), rtol=1e-11)
