"""The identities of the E-losses, and their gradients in closed form. float64 throughout."""

import inspect
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.losses import (
    cross_entropy,
    e1,
    e2,
    e3,
    marg_log,
    mean_square_gap,
    rescaled_square,
    spectral_decoupling,
    symmetric_stats,
    token_stats,
)

LABELS = np.array([0, 3, 6, 2])
ONE_HOT = np.eye(7)[LABELS]
pytestmark = pytest.mark.usefixtures("float64")


@pytest.fixture
def logits():
    return 2 * np.random.default_rng(0).normal(size=(4, 7))


@pytest.fixture
def stats(logits):
    return jax.jit(token_stats)(jnp.asarray(logits), jnp.asarray(LABELS))


def gaps(logits):
    """f_k - f_c, ``[tokens, V]``, 0 at the label."""
    return np.take_along_axis(logits, LABELS[:, None], 1) - logits


def row_gradients(loss, logits):
    def total(f):
        return loss(token_stats(f, jnp.asarray(LABELS))).sum()

    return np.asarray(jax.jit(jax.grad(total))(jnp.asarray(logits)))


def softmax(logits):
    weights = np.exp(logits)
    return weights / weights.sum(axis=-1, keepdims=True)


def test_mean_square_gap_needs_no_differences(logits, stats):
    expected = np.square(gaps(logits)).sum(axis=-1) / 6
    np.testing.assert_allclose(mean_square_gap(stats), expected, rtol=1e-12)


def test_e1_gradient_in_closed_form(logits):
    lam, gap = 0.8, gaps(logits)
    slope = 2 * lam / (1 + np.square(gap).sum(axis=-1, keepdims=True) / 6)
    of_label = slope * gap.sum(axis=-1, keepdims=True) / 6  # f_k less the mean of the others
    expected = softmax(logits) - ONE_HOT + ONE_HOT * of_label - slope / 6 * gap
    np.testing.assert_allclose(row_gradients(partial(e1, lam=lam), logits), expected, atol=1e-13)


def test_e2_gradient_in_closed_form(logits):
    centred = logits - logits.mean(axis=-1, keepdims=True)
    expected = softmax(logits) - ONE_HOT + 2 * 0.8 / 7 * centred
    np.testing.assert_allclose(row_gradients(partial(e2, lam=0.8), logits), expected, atol=1e-13)


def test_e3_gradient_in_closed_form(logits):
    expected = 2 * (logits - 1.5 * (2 * ONE_HOT - 1))
    np.testing.assert_allclose(row_gradients(partial(e3, b=1.5), logits), expected, atol=1e-12)


def test_penalty_gradient_of_e1_is_bounded_by_lam_however_large_the_logits(logits):
    def penalty(stats):
        return e1(stats, lam=1.0) - cross_entropy(stats)

    for scale in (1e-3, 1.0, 1e3):
        rows = row_gradients(penalty, scale * logits)
        assert np.abs((rows * ONE_HOT).sum(axis=-1)).max() <= 1


def test_e2_is_spectral_decoupling_on_centred_logits(stats):
    lam = 0.6
    np.testing.assert_allclose(
        e2(stats, lam=lam), spectral_decoupling(stats, lam=2 * lam / 7), rtol=1e-13
    )


@pytest.mark.parametrize(
    ("variance", "definition"),
    [
        ("all", lambda f, _: np.var(f)),
        ("sample", lambda f, _: np.var(f, ddof=1)),
        ("others", lambda f, k: np.var(np.delete(f, k))),
    ],
)
def test_e2_variance_choices_equal_their_definitions(logits, stats, variance, definition):
    expected = [definition(f, k) for f, k in zip(logits, LABELS, strict=True)]
    penalty = e2(stats, lam=1.0, variance=variance) - cross_entropy(stats)
    np.testing.assert_allclose(penalty, expected, rtol=1e-12)


def test_variance_without_the_label_does_not_see_the_margin():
    stats = symmetric_stats(jnp.linspace(-10, 30, 9), 29)
    penalty = e2(stats, lam=1.0, variance="others") - cross_entropy(stats)
    np.testing.assert_allclose(penalty, np.zeros(9), atol=1e-12)
    assert (e2(stats, lam=1.0) - cross_entropy(stats))[-1] > 1


def test_two_classes_give_margin_control():
    logits = jnp.asarray([[1.5, -0.5], [-3.0, 1.0], [0.0, 20.0]])
    stats, m = token_stats(logits, jnp.array([0, 0, 1])), np.array([2.0, -4.0, 20.0])
    log_loss = np.log1p(np.exp(-m))
    np.testing.assert_allclose(e1(stats, lam=0.7), log_loss + 0.7 * np.log(1 + m**2), rtol=1e-12)
    np.testing.assert_allclose(e1(stats, lam=0.7), marg_log(stats, lam=0.7), rtol=1e-12)
    np.testing.assert_allclose(e2(stats, lam=0.7), log_loss + 0.7 / 4 * m**2, rtol=1e-12)


def test_e3_is_a_shifted_rescaled_square_loss(logits, stats):
    b = 1.5
    shifted = token_stats(jnp.asarray(logits + b), jnp.asarray(LABELS))
    expected = 7 * rescaled_square(shifted, scale=1.0, target=2 * b)
    np.testing.assert_allclose(e3(stats, b=b), expected, rtol=1e-12)


def test_e3_mean_divides_by_the_number_of_classes_and_vanishes_at_its_target(stats):
    np.testing.assert_allclose(7 * e3(stats, b=1.5, reduction="mean"), e3(stats, b=1.5), rtol=1e-14)
    at_target = token_stats(jnp.asarray(1.5 * (2 * ONE_HOT - 1)), jnp.asarray(LABELS))
    np.testing.assert_allclose(e3(at_target, b=1.5), np.zeros(4), atol=1e-13)


def test_unknown_choices_are_refused(stats):
    # unwrapped: the type checker of the test run would refuse these strings first
    with pytest.raises(ValueError, match="variance='wrong'"):
        inspect.unwrap(e2)(stats, lam=1.0, variance="wrong")
    with pytest.raises(ValueError, match="reduction='wrong'"):
        inspect.unwrap(e3)(stats, b=1.0, reduction="wrong")


def test_one_wrong_class_has_no_variance_however_large_the_logits():
    stats = token_stats(jnp.array([[1e4, -1.23e4], [3e19, 1.0]]), jnp.array([0, 1]))
    penalty = e2(stats, lam=1.0, variance="others") - cross_entropy(stats)
    np.testing.assert_array_equal(penalty, 0)
