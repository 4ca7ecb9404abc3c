"""Linear probes compared with formulas in NumPy, and the certificate of their minimum."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, log_softmax, softmax
from scipy.stats import norm

from el_jax.probes.downstream import project, sentence_features
from el_jax.probes.linear_probe import (
    disjoint_splits,
    dual_value,
    linear_probe,
    logistic_regression,
    naive_bayes,
)
from el_jax.types import Batch, ModelFns

N, D, C = 120, 4, 3
SHRINKAGE = 1e-2  # the default
KEY = jax.random.key(0)


def clouds(num=N, width=D, classes=C, distance=1.0, seed=0):
    """Gaussian clouds around random centres, with a different unit for each feature."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=num)
    centres = distance * rng.normal(size=(classes, width))
    x = centres[labels] + rng.normal(size=(num, width))
    return x * np.geomspace(0.1, 10, width) + np.arange(width), labels


def standardised(x):
    return (x - x.mean(0)) / x.std(0)


def moments(x):
    """S + δ I of the penalty."""
    return x.T @ x / len(x) + SHRINKAGE * np.eye(x.shape[1])


def objective(weights, x, labels, l2):
    log_laws = log_softmax(x @ weights[:-1] + weights[-1], axis=1)
    penalty = l2 / 2 * np.trace(weights[:-1].T @ moments(x) @ weights[:-1])
    return -log_laws[np.arange(len(x)), labels].mean() + penalty


def weights_of(classifier, x):
    """Kernel and bias for standardised features."""
    kernel = classifier.kernel * x.std(0)[:, None]
    return np.vstack([kernel, classifier.bias + x.mean(0) @ classifier.kernel])


def test_the_gradient_vanishes_at_the_minimum():
    features, labels = clouds()
    weights = weights_of(logistic_regression(features, labels, C, l2=0.01), features)
    x = standardised(features)
    errors = softmax(x @ weights[:-1] + weights[-1], axis=1) - np.eye(C)[labels]
    penalty = 0.01 * moments(x) @ weights[:-1]
    np.testing.assert_allclose(x.T @ errors / N + penalty, 0, atol=1e-7)
    np.testing.assert_allclose(errors.mean(0), 0, atol=1e-7)


def test_the_gap_is_as_small_as_asked_for_where_classes_are_rare():
    rng, classes = np.random.default_rng(0), 25
    frequencies = np.arange(1, classes + 1) ** -2.5
    labels = rng.choice(classes, size=3_000, p=frequencies / frequencies.sum())
    centres = rng.normal(size=(classes, 100))
    features = centres[labels] + rng.standard_t(2, size=(3_000, 100))
    assert logistic_regression(features, labels, classes, tolerance=1e-3).gap <= 1e-3


def test_two_examples_have_the_kernel_of_their_equation():
    """W = (-w, w), and the equation sets the slope of log(1 + exp(-2w)) + l2 (1 + δ) w² to 0."""
    given = np.array([[-1.0], [1.0]]), np.array([0, 1])
    found = logistic_regression(*given, 2, l2=0.05, shrinkage=0.5)
    w = brentq(lambda w: 0.05 * 1.5 * w - expit(-2 * w), 0, 20)
    np.testing.assert_allclose(found.kernel, [[-w, w]], rtol=1e-6)


def test_the_dual_value_is_below_every_objective_and_meets_the_least():
    features, labels = clouds()
    x, targets, rng = standardised(features), np.eye(C)[labels], np.random.default_rng(1)
    best = logistic_regression(features, labels, C, l2=0.01)
    weights = weights_of(best, features)
    least = objective(weights, x, labels, 0.01)
    root = np.linalg.cholesky(np.linalg.inv(moments(x)))  # the penalty of x @ root is ‖K‖²

    def dual(weights):
        kernel = np.linalg.solve(root, weights[:-1])
        return dual_value(np.vstack([kernel, weights[-1]]), x @ root, targets, 0.01)

    assert 0 <= best.gap < 1e-8
    assert least - dual(weights) == pytest.approx(best.gap, abs=1e-12)
    for size in (1e-3, 0.1, 1, 10):
        elsewhere = weights + size * rng.normal(size=weights.shape)
        assert dual(elsewhere) < least
        assert least < objective(elsewhere, x, labels, 0.01)


def test_an_unfinished_minimum_is_refused(monkeypatch):
    monkeypatch.setattr("el_jax.probes.linear_probe.MAX_ITERATIONS", 3)
    with pytest.raises(RuntimeError, match=r"^duality gap .* after 3 iterations: must be at most "):
        logistic_regression(*clouds(), C)


@pytest.mark.parametrize("fit", [logistic_regression, naive_bayes])
def test_an_affine_change_of_features_changes_nothing(fit):
    features, labels = clouds()
    factor, shift = np.array([1e-3, -2.0, 50.0, 1.0]), np.array([1e-2, 5.0, -700.0, 0.0])
    before, after = fit(features, labels, C), fit(features * factor + shift, labels, C)
    logits = features @ before.kernel + before.bias
    changed = (features * factor + shift) @ after.kernel + after.bias
    changed += (logits - changed).mean(1, keepdims=True)  # a shift of all classes is free
    np.testing.assert_allclose(changed, logits, atol=1e-6)


@pytest.mark.parametrize("fit", [logistic_regression, naive_bayes])
def test_absent_classes_and_constant_features_have_no_part(fit):
    features, labels = clouds()
    rounding = 3 + 1e-7 * np.random.default_rng(2).normal(size=N)  # as in float32
    wider = np.column_stack([features, np.full(N, 7.0), rounding])
    found, plain = fit(wider, 2 * labels, 2 * C), fit(features, labels, C)
    elsewhere = np.column_stack([features, np.full(N, -100.0), rounding + 100])
    np.testing.assert_array_equal(found.predict(elsewhere), 2 * plain.predict(features))
    assert np.isneginf(found.bias[1::2]).all()


def test_naive_bayes_adds_normal_log_densities():
    features, labels = clouds()
    x = standardised(features)
    means = np.array([x[labels == c].mean(0) for c in range(C)])
    priors = np.bincount(labels) / N
    variances = sum(priors[c] * x[labels == c].var(0) for c in range(C))
    densities = norm.logpdf(x[:, None], means, np.sqrt(variances)).sum(-1) + np.log(priors)
    found = naive_bayes(features, labels, C)
    logits = features @ found.kernel + found.bias
    np.testing.assert_allclose(softmax(logits, axis=1), softmax(densities, axis=1), atol=1e-7)


def test_naive_bayes_needs_fewer_examples_where_its_model_holds():
    accuracy = {naive_bayes: [], logistic_regression: []}
    for seed in range(5):
        x, labels = clouds(num=420, width=100, classes=2, distance=0.2, seed=seed)
        for fit, found in accuracy.items():
            predicted = fit(x[:20], labels[:20], 2).predict(x[20:])
            found.append((predicted == labels[20:]).mean())
    assert np.mean(accuracy[naive_bayes]) > np.mean(accuracy[logistic_regression]) > 0.6


def test_splits_share_no_example():
    splits = disjoint_splits(103, KEY, num_splits=5, test_fraction=0.25)
    used = np.concatenate([part for split in splits for part in split])
    assert len(used) == len(set(used.tolist())) == 100
    assert used.max() < 103
    assert [(len(train), len(test)) for train, test in splits] == [(15, 5)] * 5
    assert not np.array_equal(np.sort(used[:20]), np.arange(20))


def test_separated_classes_are_told_apart():
    features, labels = clouds(num=300, distance=30)
    assert linear_probe(features, labels, C, KEY) == (1, 0)


def test_an_accuracy_is_the_mean_over_splits_with_its_error():
    features, labels = clouds(num=300)
    found = linear_probe(features, labels, C, KEY, fit=naive_bayes, num_splits=5)
    accuracies = []
    for train, test in disjoint_splits(300, KEY, num_splits=5):
        fitted = naive_bayes(features[train], labels[train], C)
        accuracies.append((fitted.predict(features[test]) == labels[test]).mean())
    assert found.mean == pytest.approx(np.mean(accuracies))
    assert found.sem == pytest.approx(np.std(accuracies, ddof=1) / 5**0.5)


def test_a_projection_keeps_squared_lengths():
    features = np.random.default_rng(0).normal(size=(8, 40)).astype(np.float32)
    found = project(features, KEY, width=4096)
    assert found.shape == (8, 4096)
    ratio = np.square(found).sum(1) / np.square(features).sum(1)
    np.testing.assert_allclose(ratio, 1, atol=5 * (2 / 4096) ** 0.5)


def batch_of(tokens):
    nothing = jnp.zeros((len(tokens), 1), jnp.int32)
    return Batch(jnp.asarray(tokens), nothing, nothing, nothing == 0, nothing)


def test_sentence_features_are_the_vectors_of_all_tokens():
    table = jnp.asarray(np.random.default_rng(0).normal(size=(5, 4)))
    model = ModelFns(dict, dict, features=lambda params, batch: params[batch.tokens])
    tokens = np.random.default_rng(0).integers(5, size=(7, 3))
    found = sentence_features(model, table, batch_of(tokens), chunk=3)
    np.testing.assert_array_equal(found, np.asarray(table)[tokens].reshape(7, 12))


X, Y = clouds()
REFUSED = {
    "classes among the labels": ({"labels": Y * 0 + 2}, {}),
    "features that vary": ({"features": X * 0 + 1}, {}),
    "features": ({"features": np.where(np.arange(D) == 2, np.nan, X)}, {}),
    "labels": ({"labels": Y - 1}, {}),
    "labels ": ({"num_classes": 2}, {}),
    "test_fraction": ({}, {"test_fraction": 0.0}),
    "test_fraction ": ({}, {"num_splits": N}),
}


@pytest.mark.parametrize("field", REFUSED)
def test_what_no_probe_can_answer_is_refused(field):
    changes, options = REFUSED[field]
    given = {"features": X, "labels": Y, "num_classes": C, "key": KEY, **changes}
    with pytest.raises(ValueError, match=rf"^{field.strip()}=.*: must be ") as error:
        linear_probe(**given, **options)
    assert "\n" not in str(error.value)
