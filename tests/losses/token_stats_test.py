import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax.test_util import check_grads
from loss_definitions import log_sum_exp, others

from el_jax.losses import (
    TokenStats,
    cross_entropy,
    e1,
    label_log_odds,
    square_sum_other,
    symmetric_stats,
    token_stats,
    variance_other,
)

FIELDS = TokenStats._fields[:-1]


def definition(logits, labels):
    """Every field from its formula, one token at a time, in float64."""
    rows = []
    for f, k in zip(np.asarray(logits, np.float64), labels, strict=True):
        wrong = others(f, k)
        log_q = np.array(wrong) - log_sum_exp(wrong)
        sums = log_sum_exp(f), log_sum_exp(wrong)
        rows.append((f[k], *sums, f.mean(), f.var(), max(wrong), -np.exp(log_q) @ log_q))
    return TokenStats(*np.array(rows).T, logits.shape[-1])


def random_tokens(seed, num_tokens=5, num_classes=6):
    rng = np.random.default_rng(seed)
    logits = 3 * rng.normal(size=(num_tokens, num_classes))
    return logits, rng.integers(num_classes, size=num_tokens)


def test_fields_equal_definition():
    logits, labels = random_tokens(0)
    with jax.enable_x64(True):
        stats = token_stats(jnp.asarray(logits), jnp.asarray(labels))
        expected = definition(logits, labels)
        for name in FIELDS:
            assert getattr(stats, name).dtype == jnp.float64
            np.testing.assert_allclose(
                getattr(stats, name), getattr(expected, name), rtol=1e-13, err_msg=name
            )
        np.testing.assert_allclose(
            variance_other(stats),
            [np.var(others(f, k)) for f, k in zip(logits, labels, strict=True)],
            rtol=1e-12,
        )
        np.testing.assert_allclose(
            square_sum_other(stats, target=-2.0),
            [sum((v + 2) ** 2 for v in others(f, k)) for f, k in zip(logits, labels, strict=True)],
            rtol=1e-12,
        )
    assert stats.num_classes == 6


@settings(max_examples=20)
@given(
    num_classes=st.sampled_from([2, 29, 2000]),
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-1e4, 1e4),
    seed=st.integers(0, 2**31),
)
def test_float32_fields_are_right_at_any_scale_and_shift(num_classes, scale, shift, seed):
    rng = np.random.default_rng(seed)
    logits = (scale * rng.normal(size=(3, num_classes)) + shift).astype(np.float32)
    labels = rng.integers(num_classes, size=3)
    stats = jax.jit(token_stats)(jnp.asarray(logits), jnp.asarray(labels))
    expected = definition(logits, labels)
    rounding = 4 * np.finfo(np.float32).eps * np.abs(logits).max()
    for name in ("label_logit", "logsumexp", "logsumexp_other", "mean", "max_other"):
        np.testing.assert_allclose(
            getattr(stats, name), getattr(expected, name), rtol=1e-6, atol=rounding, err_msg=name
        )
    np.testing.assert_allclose(stats.variance, expected.variance, rtol=1e-5, atol=rounding**2)
    np.testing.assert_allclose(
        stats.entropy_other, expected.entropy_other, rtol=1e-5, atol=20 * rounding
    )


@pytest.mark.parametrize("margin", [10.0, 40.0, 80.0])
def test_tiny_cross_entropy_keeps_its_digits(margin):
    logits = jnp.array([margin, 0.0, 0.0, 0.0])
    exact = np.log1p(3 * np.exp(-margin))
    loss = cross_entropy(token_stats(logits, jnp.array(0)))
    np.testing.assert_allclose(loss, exact, rtol=1e-5)


def test_temperature_divides_the_logits():
    logits, labels = (jnp.asarray(a) for a in random_tokens(1))
    hot = token_stats(logits, labels, temperature=2.0)
    jax.tree.map(np.testing.assert_array_equal, hot, token_stats(logits / 2, labels))
    swept = jax.vmap(lambda t: token_stats(logits, labels, temperature=t))(jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(swept.logsumexp[1], hot.logsumexp, rtol=1e-6)


def test_differentiable_to_second_order_in_both_modes():
    logits, labels = random_tokens(2)
    with jax.enable_x64(True):
        labels = jnp.asarray(labels)

        @jax.jit
        def leaves(f):
            return jax.tree.leaves(token_stats(f, labels))

        check_grads(leaves, (jnp.asarray(logits),), order=2, rtol=1e-4, atol=1e-4)


def test_number_of_classes_is_static_under_every_transformation():
    logits, labels = (jnp.asarray(a) for a in random_tokens(3))
    stats = jax.jit(jax.vmap(token_stats))(logits, labels)
    assert type(stats.num_classes) is int
    assert len(jax.tree.leaves(stats)) == 7
    expected = e1(token_stats(logits, labels), lam=0.5)
    across = jax.jit(jax.vmap(lambda stats: e1(stats, lam=0.5)))(stats)
    np.testing.assert_allclose(across, expected, rtol=1e-6)
    gradient = jax.grad(lambda stats: cross_entropy(stats).sum())(stats)
    assert gradient.num_classes == 6
    np.testing.assert_allclose(gradient.logsumexp_other, -gradient.label_logit)


@pytest.mark.parametrize("wrong", [-1, 6])
def test_label_outside_the_vocabulary_is_seen(wrong):
    logits, labels = (jnp.asarray(a) for a in random_tokens(4))
    losses = cross_entropy(token_stats(logits, labels.at[1].set(wrong)))
    np.testing.assert_array_equal(jnp.isnan(losses), [False, True, False, False, False])


def test_shapes_that_make_no_sense_are_refused():
    # unwrapped: the type checker of the test run would refuse these shapes first
    with pytest.raises(ValueError, match=r"labels \(5, 1\) .* logits \(5, 6\)"):
        inspect.unwrap(token_stats)(jnp.zeros((5, 6)), jnp.zeros((5, 1), jnp.int32))
    with pytest.raises(ValueError, match="num_classes=1 "):
        token_stats(jnp.zeros((5, 1)), jnp.zeros(5, jnp.int32))
    with pytest.raises(ValueError, match="num_classes=1 "):
        symmetric_stats(jnp.zeros(5), 1)


@pytest.mark.parametrize("wrong_logit", [0.0, -3.0])
def test_symmetric_stats_are_those_of_equal_wrong_logits(wrong_logit):
    margins = np.array([-4.0, 0.0, 0.3, 12.0])
    logits = np.full((4, 9), wrong_logit)
    logits[:, 2] += margins
    with jax.enable_x64(True):
        expected = token_stats(jnp.asarray(logits), jnp.full(4, 2))
        actual = symmetric_stats(jnp.asarray(margins), 9, wrong_logit=wrong_logit)
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14), actual, expected
        )
        p = 1 / (1 + 8 * np.exp(-margins))
        np.testing.assert_allclose(jax.nn.sigmoid(label_log_odds(actual)), p, rtol=1e-12)


def test_labels_that_are_no_integers_are_refused():
    with pytest.raises(TypeError, match="labels are float32: must be integers"):
        inspect.unwrap(token_stats)(jnp.zeros((2, 3)), jnp.zeros(2))
