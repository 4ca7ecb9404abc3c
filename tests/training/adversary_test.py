"""The adversarial term against a label: its formula, its gradient and its examples."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from configs.flatness.masked import get_config
from el_jax import build
from el_jax.checks import layout_of
from el_jax.process.compilation import Once
from el_jax.process.errors import ConfigError
from el_jax.training.objectives.adversary import Update, unexplained


def config(**adversary):
    found = get_config("world=hmm,smoke,adversary=state_3")
    found.train.update(seeds=1, probes=())
    found.adversary.update(num_examples=32, **adversary)
    return found


def by_hand(features, labels, num_classes, ridge):
    """Ridge regression in its primal form, with one weight per feature."""
    f = np.asarray(features, np.float64)
    f /= np.linalg.norm(f, axis=1, keepdims=True)
    y = np.eye(num_classes)[labels] - 1 / num_classes
    cut = len(f) - len(f) // 8
    weights = np.linalg.solve(f[:cut].T @ f[:cut] + ridge * np.eye(f.shape[1]), f[:cut].T @ y[:cut])
    return np.square(f[cut:] @ weights - y[cut:]).mean() * num_classes**2 / (num_classes - 1)


@pytest.mark.parametrize("width", [3, 100])  # fewer features than examples, and more
def test_the_share_is_that_of_ridge_regression(width):
    features = jax.random.normal(jax.random.key(0), (40, width))
    labels = jax.random.randint(jax.random.key(1), (40,), 0, 5)
    found = unexplained(features, labels, 5, 1e-2)
    np.testing.assert_allclose(found, by_hand(features, labels, 5, 1e-2), rtol=1e-4)


def test_examples_without_a_class_are_left_out():
    features = jax.random.normal(jax.random.key(0), (64, 3))
    labels = jax.random.randint(jax.random.key(1), (64,), 0, 5)
    some = labels.at[::4].set(-1)
    # 42 of the first 56 and 6 of the last 8 have a class: by hand, in the same proportion
    kept = np.flatnonzero(np.asarray(some) >= 0)
    assert len(kept) == 48
    expected = by_hand(features[kept], labels[kept], 5, 1e-2)
    np.testing.assert_allclose(unexplained(features, some, 5, 1e-2), expected, rtol=1e-4)


def test_features_that_are_the_labels_leave_nothing_and_constant_ones_all():
    labels = jnp.arange(64) % 4
    assert float(unexplained(jax.nn.one_hot(labels, 4), labels, 4, 1e-3)) < 1e-4
    assert float(unexplained(jnp.ones((64, 3)), labels, 4, 1e-3)) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(("cap", "rewarded"), [(1e3, True), (1e-3, False)])
def test_the_gradient_is_that_of_the_loss_less_the_capped_share(cap, rewarded):
    settings = build.parse(config(weight=0.5, cap=cap))
    spec, task = build.make_spec(settings), settings.task
    both = spec.objective
    alone, model, adversary = both.base, both.head.model, both.adversary
    params, key = Once(model.init)(jax.random.key(0)), jax.random.key(1)

    @Once
    def drawn():
        data = task.train_set()
        return task.batch_at(data, 3, key), task.labelled_at("state_3", 32, data, 3, key)

    batch, labelled = drawn()
    num_classes = task.world.make().num_classes["state_3"]
    update = Update(batch, labelled)

    def gradient(objective, batch):
        def loss_of(params):
            return objective.loss(params, batch, (), spec.hypers.loss, key)

        return jax.value_and_grad(loss_of, has_aux=True)(params)

    def total(params):
        features = model.features(params, labelled.windows).reshape(32, -1)
        share = unexplained(features, labelled.labels, num_classes, adversary.ridge)
        ordinary, _ = alone.loss(params, batch, (), spec.hypers.loss, key)
        return ordinary - 0.5 * jnp.minimum(share, cap), share

    @Once
    def all_at_once():
        (loss, (metrics, _)), grads = gradient(both, update)
        by_hand = jax.value_and_grad(total, has_aux=True)(params)
        return gradient(alone, batch), loss, grads, metrics, by_hand

    ((plain, _), without), loss, grads, metrics, by_hand = all_at_once()
    (expected, share), slopes = by_hand
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    np.testing.assert_allclose(metrics["unexplained"].mean, share, rtol=1e-5)
    assert float(plain - loss) == pytest.approx(0.5 * min(float(share), cap), rel=1e-3)
    for ours, theirs in zip(jax.tree.leaves(grads), jax.tree.leaves(slopes), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-6)
    same = jax.tree.map(lambda a, b: bool(jnp.allclose(a, b, rtol=1e-6)), grads, without)
    assert all(jax.tree.leaves(same)) != rewarded  # beyond the cap nothing is gained


def test_labelled_sentences_are_new_in_every_update_and_have_the_labels_of_the_world():
    task = build.parse(config()).task
    data, key = Once(task.train_set)(), jax.random.key(0)
    drawn = Once(lambda data, step: task.labelled_at("state_3", 8, data, step, key))
    first, again, second = (drawn(data, step) for step in (0, 0, 1))
    np.testing.assert_array_equal(first.windows.tokens, again.windows.tokens)
    assert (first.windows.tokens != second.windows.tokens).any()
    asked = Once(task.batch_at)(data, 0, key)
    assert (first.windows.tokens[:, 1:] != asked.tokens[:8, 1:]).any(1).all()
    assert not first.windows.mask.any()
    assert first.labels.shape == (8,)
    grammar = build.parse(get_config("world=pcfg,smoke")).task

    @Once
    def labels():
        found = grammar.labelled_at("prefix_2", 8, grammar.train_set(), 0, key)
        sentences = grammar.downstream_set(8)._replace(tokens=found.windows.tokens[:, 1:])
        return found.labels, grammar.world.make().labels(sentences)["prefix_2"]

    np.testing.assert_array_equal(*labels())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": "state_33"}, "config.adversary.label='state_33': must be one of state_"),
        ({"num_examples": 12}, "config.adversary.num_examples=12: must be a multiple of 8"),
    ],
)
def test_a_value_that_does_not_fit_is_named(changes, message):
    wrong = config()
    wrong.adversary.update(changes)
    with pytest.raises(ConfigError) as error:
        build.checked(build.parse(wrong))
    assert message in str(error.value)


def test_a_task_or_layout_that_does_not_fit_is_named():
    causal = get_config("task=causal,world=hmm,smoke")
    causal.adversary = config().adversary
    with pytest.raises(ConfigError, match=r"config\.adversary: needs the task masked"):
        build.checked(build.parse(causal))
    split = config()
    assert layout_of(build.parse(split)).shard == "none"  # two devices, and one run
    split.train.shard = "data"
    with pytest.raises(ConfigError, match=r"train\.shard='data': must be 'auto', 'runs' or 'none'"):
        layout_of(build.parse(split))
