"""Laws that every entry of TOKEN_LOSSES satisfies; a definition covers each entry."""

import functools
import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from loss_definitions import DEFINITIONS, SHIFT_DEPENDENT, VANISHING_STRENGTH, over_tokens

import el_jax.losses
from el_jax.losses import (
    TOKEN_LOSSES,
    cross_entropy,
    equilibrium_margins,
    gradient_weight,
    label_gradient,
    token_stats,
)
from el_jax.numbers import declared

NAMES = list(TOKEN_LOSSES)
V = 7


def bound(name):
    return partial(TOKEN_LOSSES[name], **DEFINITIONS[name][1])


def losses_of(name, logits, labels):
    return bound(name)(token_stats(logits, labels))


@functools.cache
def losses_and_rows(name):
    """Compiled ``(logits, labels) -> losses [*batch], gradient of each through its logits``."""

    def both(logits, labels):
        losses, pull_back = jax.vjp(lambda f: losses_of(name, f, labels), logits)
        return losses, pull_back(jnp.ones_like(losses))[0]

    return jax.jit(both)


def random_tokens(seed, scale=3.0):
    """Random tokens of one shape, so that JAX compiles each operation once for the whole file."""
    rng = np.random.default_rng(seed)
    return scale * rng.normal(size=(2, 3, V)), rng.integers(V, size=(2, 3))


def test_the_rooms_table_has_every_loss_in_its_order():
    rows = re.findall(r"^(\w+) {2,}\S", el_jax.losses.__doc__, re.MULTILINE)
    assert rows == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_logits_are_refused_with_what_to_call(name):
    loss = TOKEN_LOSSES[name]
    defaults = {key: each.default for key, each in declared(loss).items()}
    with pytest.raises(
        TypeError, match=rf"^{name} takes TokenStats, not .*: call token_stats\(log"
    ):
        loss(jnp.zeros((2, V)), **defaults)


@pytest.mark.parametrize("name", NAMES)
def test_equals_definition(name):
    logits, labels = random_tokens(0)
    definition, strengths = DEFINITIONS[name]
    expected = over_tokens(definition, logits, labels, **strengths)
    single, _ = losses_and_rows(name)(jnp.asarray(logits, jnp.float32), jnp.asarray(labels))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, expected, rtol=2e-5, atol=1e-5)
    with jax.enable_x64(True):
        double, _ = losses_and_rows(name)(jnp.asarray(logits), jnp.asarray(labels))
        assert double.dtype == jnp.float64
        np.testing.assert_allclose(double, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_to_second_order_under_vmap(name):
    """Derivatives along t -> logits + t·direction, in either mode, compared with differences."""
    logits, labels = random_tokens(1, scale=1.5)
    direction, _ = random_tokens(2, scale=1.0)

    def losses(logits):
        return jax.vmap(lambda f, k: losses_of(name, f, k))(logits, labels)

    def forward(t):
        return jax.jvp(losses, (logits + t * direction,), (direction,))[1]

    def reverse(t):
        values, pull_back = jax.vjp(losses, logits + t * direction)
        return (pull_back(jnp.ones_like(values))[0] * direction).sum(-1)

    @jax.jit
    def derivatives(t):
        first, second = (forward(t), reverse(t)), (jax.jacfwd(forward)(t), jax.jacfwd(reverse)(t))
        twice_reverse = jax.grad(lambda t: reverse(t).sum())(t)
        return losses(logits + t * direction), first, second, twice_reverse

    step = 1e-4
    with jax.enable_x64(True):
        logits, direction, labels = map(jnp.asarray, (logits, direction, labels))
        _, first, second, twice_reverse = derivatives(jnp.float64(0))
        ahead, behind = (derivatives(jnp.float64(t)) for t in (step, -step))
        slope = (ahead[0] - behind[0]) / (2 * step)
        bend = (ahead[1][0] - behind[1][0]) / (2 * step)
        total = bend.sum()
    for found, expected in zip((*first, *second), (slope, slope, bend, bend), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(twice_reverse, total, rtol=1e-5, atol=1e-6)


EXTREME = 1e4 * np.array(
    [
        [1, -1, -1, -1, -1, -1, -1],  # certain and right
        [-1, 1, -1, -1, -1, -1, -1],  # certain and wrong
        [-1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 1, 1, 1],
        [0, 0, 0, 0, 0, 0, 0],
        [1, 1, -1, 0, 0.5, -0.5, 0],
    ]
).reshape(2, 3, V)


@pytest.mark.parametrize("name", NAMES)
def test_value_gradient_and_curvature_are_finite_at_extreme_logits(name):
    logits, labels = jnp.asarray(EXTREME, jnp.float32), jnp.zeros((2, 3), jnp.int32)
    direction = jnp.ones_like(logits).at[..., 0].set(-1)
    for moving in (losses_and_rows(name), jax.jit(lambda f, k: losses_of(name, f, k))):
        values, slopes = jax.jvp(lambda f, g=moving: g(f, labels), (logits,), (direction,))
        for leaf in jax.tree.leaves((values, slopes)):
            assert jnp.isfinite(leaf).all()


@pytest.mark.parametrize("name", NAMES)
def test_shift_of_all_logits_acts_only_where_it_should(name):
    logits, labels = random_tokens(2)
    with jax.enable_x64(True):
        losses, rows = losses_and_rows(name)(jnp.asarray(logits), jnp.asarray(labels))
        shifted, _ = losses_and_rows(name)(jnp.asarray(logits + 100), jnp.asarray(labels))
        moved, row_sums = np.abs(shifted - losses), np.abs(rows.sum(axis=-1))
    if name in SHIFT_DEPENDENT:
        assert moved.min() > 0.1
        assert row_sums.min() > 1e-3
    else:
        assert moved.max() < 1e-11
        assert row_sums.max() < 1e-13


@pytest.mark.parametrize("name", NAMES)
def test_order_of_classes_does_not_matter(name):
    logits, labels = random_tokens(3)
    order = np.random.default_rng(0).permutation(V)
    renamed = np.argsort(order)[labels]  # where each label went
    with jax.enable_x64(True):
        losses, _ = losses_and_rows(name)(jnp.asarray(logits), jnp.asarray(labels))
        permuted, _ = losses_and_rows(name)(jnp.asarray(logits[..., order]), jnp.asarray(renamed))
    np.testing.assert_allclose(permuted, losses, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_label_gradient_equals_autodiff_through_logits(name):
    logits, labels = random_tokens(5)
    with jax.enable_x64(True):
        logits, labels = jnp.asarray(logits), jnp.asarray(labels)
        _, rows = losses_and_rows(name)(logits, labels)
        expected = np.take_along_axis(np.asarray(rows), np.asarray(labels)[..., None], -1)[..., 0]
        stats = token_stats(logits, labels)
        actual = label_gradient(bound(name), stats)
        np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-14)
        np.testing.assert_array_equal(gradient_weight(bound(name), stats), np.abs(actual))


@pytest.mark.parametrize("name", NAMES)
def test_bfloat16_logits_are_read_and_then_computed_in_float32(name):
    logits, labels = random_tokens(6)
    half, labels = jnp.asarray(logits, jnp.bfloat16), jnp.asarray(labels)
    losses = losses_of(name, half, labels)
    assert losses.dtype == jnp.float32
    np.testing.assert_array_equal(losses, losses_of(name, half.astype(jnp.float32), labels))


@pytest.mark.parametrize("name", [name for name in NAMES if DEFINITIONS[name][1]])
def test_strengths_may_be_swept_under_vmap(name):
    logits, labels = (jnp.asarray(a) for a in random_tokens(8))
    stats = token_stats(logits, labels)
    sweep = {key: jnp.array([0.5, 1.0, 2.0]) * v for key, v in DEFINITIONS[name][1].items()}
    swept = jax.vmap(lambda strengths: TOKEN_LOSSES[name](stats, **strengths))(sweep)
    for i, losses in enumerate(swept):
        one = TOKEN_LOSSES[name](stats, **{key: float(v[i]) for key, v in sweep.items()})
        np.testing.assert_allclose(losses, one, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", VANISHING_STRENGTH)
def test_zero_strength_is_cross_entropy_bit_for_bit(name):
    logits, labels = (jnp.asarray(a) for a in random_tokens(9))
    stats = token_stats(logits, labels)
    losses = TOKEN_LOSSES[name](stats, **{VANISHING_STRENGTH[name]: 0.0})
    np.testing.assert_array_equal(losses, cross_entropy(stats))


def test_comp_sum_has_a_gradient_at_cross_entropy_where_the_label_is_far_behind():
    def loss(logits):
        return TOKEN_LOSSES["comp_sum"](token_stats(logits, jnp.array(0)), tau=1.0)

    slope = jax.grad(loss)(jnp.array([0.0, 95.0, 0.0]))
    np.testing.assert_allclose(slope, [-1.0, 1.0, 0.0], atol=1e-6)


def test_comp_sum_is_continuous_at_cross_entropy_and_ends_at_the_probability_of_error():
    logits, labels = random_tokens(11)
    stats = token_stats(jnp.asarray(logits), jnp.asarray(labels))
    loss = TOKEN_LOSSES["comp_sum"]
    for tau in (1 - 2e-4, 1 - 5e-5, 1.0, 1 + 5e-5, 1 + 2e-4):
        np.testing.assert_allclose(loss(stats, tau=tau), cross_entropy(stats), rtol=2e-3)
    error = gradient_weight(cross_entropy, stats)
    np.testing.assert_allclose(loss(stats, tau=2.0), error, rtol=1e-5)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5])
def test_dice_rests_at_its_target_margin(alpha):
    """With two classes the margin is the log-odds: p_k = 1 / (1 + α)."""
    loss = partial(TOKEN_LOSSES["dice"], alpha=alpha, smooth=1.0)
    (margin,) = equilibrium_margins(loss, 2)
    np.testing.assert_allclose(margin, -np.log(alpha), rtol=1e-6)


def test_sigma_damp_rests_at_its_documented_log_odds():
    loss = partial(TOKEN_LOSSES["sigma_damp"], temperature=2.0)
    (margin,) = equilibrium_margins(loss, 2)  # with two classes the margin is the log-odds
    np.testing.assert_allclose(margin, 2 * 1.2785, atol=1e-4)
