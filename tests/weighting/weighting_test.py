"""Weights of windows and groups: definitions, properties of all, and updates with them."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from configs.common import weighting
from configs.el.copy import get_config
from configs.flatness.masked import get_config as masked_config
from el_jax.build import build, make_spec, parse
from el_jax.checkpoint import Checkpoints
from el_jax.losses import masked_mean
from el_jax.process.compilation import Once
from el_jax.process.errors import ConfigError
from el_jax.training.fit import fit
from el_jax.training.program import make_program
from el_jax.weighting import WEIGHTINGS, group_dro, weighted_mean
from tests.training.small_training import small_config

DEFINITIONS = {
    "lin_upper": lambda h: min(h + 1, 1),
    "quadratic": lambda h: 1 - h**2,
    "extremes": abs,
}
LOSSES = np.array([[0.1, 0.3], [2.0, 1.0], [0.7, 9.0], [4.0, 0.2]], np.float32)
ALL_THREE = jnp.ones(3, bool)
MASK = np.array([[True, True], [True, True], [True, False], [True, True]])


@pytest.mark.parametrize("name", WEIGHTINGS)
@pytest.mark.parametrize("r", [0.5, 1.0])
def test_weights_are_a_softmax_of_the_place_between_least_and_largest_loss(name, r):
    means = [LOSSES[i][MASK[i]].mean() for i in range(4)]
    low, high = min(means), max(means)
    weights = np.exp([DEFINITIONS[name]((2 * m - low - high) / (high - low)) / r for m in means])
    tokens = np.where(MASK, weights[:, None], 0)
    expected = (tokens * LOSSES).sum() / tokens.sum()
    weigh = partial(WEIGHTINGS[name], r=r)
    found = weighted_mean(jnp.asarray(LOSSES), jnp.asarray(MASK), weigh)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_a_large_temperature_is_the_plain_mean_bit_for_bit(name):
    weigh = partial(WEIGHTINGS[name], r=1e30)
    both = jax.jit(lambda losses: weighted_mean(losses, jnp.asarray(MASK), weigh))
    plain = jax.jit(lambda losses: masked_mean(losses, jnp.asarray(MASK)))
    assert both(LOSSES) == plain(LOSSES)


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_a_small_temperature_keeps_the_windows_of_the_largest_score(name):
    means = [LOSSES[i][MASK[i]].mean() for i in range(4)]
    low, high = min(means), max(means)
    scores = [DEFINITIONS[name]((2 * m - low - high) / (high - low)) for m in means]
    kept = np.isclose(scores, max(scores), atol=1e-3)
    tokens = np.where(MASK & kept[:, None], LOSSES, 0)
    weigh = partial(WEIGHTINGS[name], r=1e-6)
    found = weighted_mean(jnp.asarray(LOSSES), jnp.asarray(MASK), weigh)
    np.testing.assert_allclose(found, tokens.sum() / (MASK & kept[:, None]).sum(), rtol=1e-5)


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_no_gradient_passes_through_weights_of_mean_one(name):
    weigh = partial(WEIGHTINGS[name], r=1.0)
    slopes = jax.grad(lambda losses: weighted_mean(losses, jnp.asarray(MASK), weigh))(
        jnp.asarray(LOSSES)
    )
    np.testing.assert_allclose(slopes.sum(), 1.0, rtol=1e-6)
    assert (slopes[0] == slopes[0, 0]).all()  # one weight a window
    assert slopes[2, 1] == 0


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_a_window_without_tokens_takes_no_weight(name):
    mask = np.array([[True], [False], [True], [True]]) & np.ones((4, 2), bool)
    losses = np.array([[1.0, 1.0], [9.0, 9.0], [3.0, 3.0], [3.0, 3.0]], np.float32)
    weigh = partial(WEIGHTINGS[name], r=0.005)
    rest = np.array([0, 2, 3])
    found = weighted_mean(jnp.asarray(losses), jnp.asarray(mask), weigh)
    assert found == weighted_mean(jnp.asarray(losses[rest]), jnp.asarray(mask[rest]), weigh) > 0


def test_equal_losses_and_windows_without_tokens_do_no_harm():
    weigh = partial(WEIGHTINGS["lin_upper"], r=1.0)
    value = jax.value_and_grad(lambda losses, mask: weighted_mean(losses, mask, weigh))
    for mask in (MASK, MASK & [[True], [False], [True], [True]], np.zeros_like(MASK)):
        loss, slopes = value(jnp.ones((4, 2)), jnp.asarray(mask))
        np.testing.assert_allclose(loss, mask.any(), rtol=1e-6)
        assert jnp.isfinite(slopes).all()


def smoke(name="", **numbers):
    config = get_config("smoke" + (f",weighting={name}" if name else ""))
    if numbers:
        config.weighting.update(numbers)
    return config


def start(spec):
    """Parameters, and the windows of the first update."""
    init, batch_at = spec.objective.head.model.init, spec.objective.batch_at

    @Once
    def drawn():
        batch = batch_at(spec.task.train_set(), jnp.int32(0), jax.random.key(0))
        return init(jax.random.key(1)), batch

    return drawn()


def test_an_update_has_the_loss_weighted_by_windows():
    spec = make_spec(parse(smoke("lin_upper", r=0.5)))
    objective, head = spec.objective, spec.objective.head
    params, batch = start(spec)

    @Once
    def measured(params):
        losses = head.loss(head.outputs(params, batch), batch, {})
        return losses, objective.loss(params, batch, (), {}, None)[0]

    losses, found = measured(params)
    expected = weighted_mean(losses, batch.mask, partial(WEIGHTINGS["lin_upper"], r=0.5))
    assert abs(expected - masked_mean(losses, batch.mask)) > 1e-4
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_group_dro_is_exponentiated_gradient_ascent_on_the_groups():
    memory, totals = jnp.zeros(3), np.zeros(3)
    for losses in np.random.default_rng(0).exponential(size=(4, 3)).astype(np.float32):
        weights, memory = group_dro(jnp.asarray(losses), ALL_THREE, memory, step_size=0.5)
        totals += losses
        q = np.exp(0.5 * totals)
        np.testing.assert_allclose(weights, q / q.sum(), rtol=1e-5)


def test_a_group_without_tokens_keeps_its_share():
    memory = jnp.log(jnp.asarray([0.5, 0.3, 0.2]))
    present = jnp.asarray([True, True, False])
    weights, _ = group_dro(jnp.asarray([2.0, 1.0, 0.0]), present, memory, step_size=0.01)
    np.testing.assert_allclose(weights[2], 0.2, rtol=1e-4)  # to first order in the step
    np.testing.assert_allclose(weights[0] / weights[1], np.exp(0.01) * 5 / 3, rtol=1e-5)


def test_an_update_by_groups_has_the_gradient_of_the_weighted_sum_and_remembers():
    spec = make_spec(parse(smoke("group_dro", step_size=0.7)))
    objective, head = spec.objective, spec.objective.head
    params, batch = start(spec)
    members = [np.asarray((batch.groups == group) & batch.mask) for group in range(2)]
    assert all(member.any() for member in members)

    def weighted(params, q):
        """The definition, with the weights q held fixed."""
        losses = head.loss(head.outputs(params, batch), batch, {})
        means = jnp.stack([losses[member].mean() for member in members])
        return (means * q).sum(), means

    memory = jnp.asarray([0.3, -0.2])
    found = jax.jit(jax.value_and_grad(objective.loss, has_aux=True), static_argnums=4)
    (loss, (metrics, after)), grads = found(params, batch, memory, {}, None)
    by_hand = jax.jit(jax.value_and_grad(weighted, has_aux=True))
    (_, means), _ = by_hand(params, jnp.zeros(2))
    log_q = memory + 0.7 * means
    q = jnp.exp(log_q) / jnp.exp(log_q).sum()
    (expected, _), slopes = by_hand(params, q)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), grads, slopes)
    np.testing.assert_allclose(after, jnp.log(q), atol=1e-6)
    np.testing.assert_allclose(metrics["weight"].mean, q, atol=1e-6)


def test_what_a_run_remembers_is_saved_and_resumed_bit_for_bit(tmp_path):
    config = small_config("smoke,weighting=group_dro,optimizer=sam")
    config.weighting.step_size = 0.1
    config.sweep.optim.peak_lr = (1e-3, 3e-3)
    settings = parse(config)
    whole = fit(build(settings))
    assert whole.memory.shape == (2 * config.train.seeds, 2)
    assert np.unique(whole.memory[:, 0]).size == len(whole.memory)  # each run remembers its own
    program = make_program(make_spec(settings))
    half = config.train.num_updates // 2
    state, _, _ = program.advance(program.init(), half)
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(state)
        checkpoints.wait()
        read = checkpoints.restore(program.init)
    after, _, _ = program.advance(read, config.train.num_updates - half)
    jax.tree.map(np.testing.assert_array_equal, jax.device_get(after), jax.device_get(whole))


def test_weights_of_groups_do_not_go_with_an_adversary():
    config = masked_config("world=hmm,smoke,adversary=state_3")
    with config.unlocked():
        config.weighting = weighting("group_dro")
    with pytest.raises(ConfigError, match=r"config\.weighting\.name='group_dro': not with"):
        build(parse(config))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            {"name": "hardest"},
            "weighting.name='hardest': must be one of extremes, group_dro, lin_upper",
        ),
        ({"r": 0.0}, "config.weighting.r=0.0: must be above 0"),
        ({"power": 1.0}, "config.weighting.power"),
    ],
)
def test_a_wrong_section_is_named(change, line):
    config = smoke("lin_upper")
    with config.unlocked():
        config.weighting.update(change)
    with pytest.raises(ConfigError, match=line):
        parse(config)


def test_windows_on_several_devices_are_refused_by_name():
    config = smoke("lin_upper")
    config.train.shard = "data"
    with pytest.raises(ConfigError, match=r"config\.train\.shard='data'.*config\.weighting"):
        build(parse(config))
