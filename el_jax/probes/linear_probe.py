"""Linear classifiers on frozen features, to evaluate them on a task they were not trained for.

    features = sentence_features(model, params, batch)  # [n, T D], of sentences with labels
    accuracy = linear_probe(features, labels, num_classes=50, key=jax.random.key(0))

Liu, Xie, Li, Ma 2023 (arXiv 2210.14199) train such a classifier on the vectors of all tokens for
100 epochs of AdamW. Here it is the minimum of a convex objective, certified by a duality gap, so
the accuracy does not depend on a training schedule. ``naive_bayes`` on the same features
distinguishes a linear arrangement from one that few examples reveal. Both standardise the features
first, so an affine change of any feature changes nothing, and both return a
:class:`LinearClassifier` of the original features.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy  # submodules are imported where they are used, so commands start sooner
from jax import Array
from jaxtyping import Float, Int

from el_jax.process.double_precision import float64
from el_jax.process.errors import require
from el_jax.types import Estimate, Key

MAX_ITERATIONS = 10_000
_LEAST_SLOPE = 1e-12  # of a gradient entry, at the limit of float64
# A feature that varies by less, relative to its mean, is only float32 rounding.
_LEAST_VARIATION = 1e-6


class LinearClassifier(NamedTuple):
    """The class with the largest entry of ``features @ kernel + bias``.

    Attributes:
        kernel: ``[D, C]`` in float64.
        bias: ``[C]``; -inf for a class without examples, which is never predicted.
        gap: a bound on its objective minus the least one, in nats; 0 for a closed form.
    """

    kernel: Float[np.ndarray, "D C"]
    bias: Float[np.ndarray, " C"]
    gap: float = 0.0

    def predict(self, features: Float[np.ndarray, "n D"]) -> Int[np.ndarray, " n"]:
        """The class of each example."""
        return np.argmax(np.asarray(features, np.float64) @ self.kernel + self.bias, axis=1)


Fit = Callable[[Float[np.ndarray, "n D"], Int[np.ndarray, " n"], int], LinearClassifier]


def logistic_regression(
    features: Float[np.ndarray, "n D"],
    labels: Int[np.ndarray, " n"],
    num_classes: int,
    *,
    l2: float = 1e-2,
    shrinkage: float = 1e-2,
    tolerance: float = 1e-6,
) -> LinearClassifier:
    """Multinomial logistic regression: minimise cross-entropy + l2 / 2 Σ_c w_cᵀ (S + δ I) w_c.

    w_c acts on features of mean 0 and variance 1 in the examples, S is their correlation matrix,
    and the bias is free. The penalty is the variance of the logits plus a little of |w_c|², so
    directions in which features vary little are not lost. |w_c|² alone makes the problem
    ill-conditioned if features are correlated, as in transformers. The solver is L-BFGS in float64,
    in coordinates where the penalty is round.

    Args:
        features: features of each example.
        labels: the class of each example.
        num_classes: C.
        l2: weight of the penalty, positive for a minimum to exist.
        shrinkage: δ, positive as features may repeat each other.
        tolerance: largest duality gap, in nats.

    Raises:
        ValueError: if there is only one class, or no feature varies.
        RuntimeError: if the gap stays above ``tolerance``.
    """
    given = _standardised(features, labels)
    variances, directions = np.linalg.eigh(given.x.T @ given.x / len(given.x))
    root = directions / np.sqrt(np.maximum(variances, 0) + shrinkage)  # a root of (S + δ I)⁻¹
    x = given.x @ root
    with float64():
        data = jnp.asarray(x), jnp.asarray(given.targets), jnp.asarray(l2)

        def value_and_gradient(flat: Float[np.ndarray, " k"]) -> tuple[float, np.ndarray]:
            value, gradient = _value_and_gradient(jnp.asarray(flat), *data)
            return float(value), np.asarray(gradient)

        at, gap = np.zeros((x.shape[1] + 1) * len(given.present)), np.inf
        slope, iterations = tolerance, 0
        while (
            gap > tolerance and slope > _LEAST_SLOPE and (left := MAX_ITERATIONS - iterations) > 0
        ):
            slope /= 100  # leaves a small gap, unless a class is rare
            options = {"maxiter": left, "maxfun": 2 * left, "ftol": 0, "gtol": slope}
            found = scipy.optimize.minimize(
                value_and_gradient, at, jac=True, method="L-BFGS-B", options=options
            )
            iterations += found.nit
            at, weights = found.x, found.x.reshape(-1, len(given.present))
            gap = float(found.fun) - dual_value(weights, x, given.targets, l2)
    if not gap <= tolerance:
        raise RuntimeError(
            f"duality gap {gap:.2g} nats after {iterations} iterations: must be at most "
            f"{tolerance:.2g}; a larger l2 than {l2:.2g} is easier"
        )
    return given.classifier(root @ weights[:-1], weights[-1], num_classes, gap)


def dual_value(
    weights: Float[np.ndarray, "Dplus1 C"],
    x: Float[np.ndarray, "n D"],
    targets: Float[np.ndarray, "n C"],
    l2: float,
) -> float:
    """A lower bound on the regularised cross-entropy of every classifier, in nats.

    For distributions p_i with the same mean as the targets y_i, weak duality gives Σ H(p_i) / n -
    |Xᵀ (Y - P) / n|² / (2 l2). It is tight at the distributions of the best classifier.

    Args:
        weights: a classifier's kernel and, in the last row, bias, which give the distributions.
        x: features in coordinates where the penalty is l2 / 2 times the square of the kernel.
        targets: one-hot labels, of classes that occur.
        l2: weight of the penalty.
    """
    laws = scipy.special.softmax(x @ weights[:-1] + weights[-1], axis=1)
    frequencies, means = targets.mean(0), laws.mean(0)
    # The mean is right up to the gradient of the bias; mixing in one more distribution corrects it.
    kept = (frequencies / means).min()
    laws = kept * laws + (frequencies - kept * means)
    slope = x.T @ (targets - laws) / len(x)
    return float(scipy.special.entr(laws).sum() / len(x) - np.square(slope).sum() / (2 * l2))


def naive_bayes(
    features: Float[np.ndarray, "n D"], labels: Int[np.ndarray, " n"], num_classes: int
) -> LinearClassifier:
    """Gaussian naive Bayes: a mean for each class, and one variance for each feature.

    Zheng et al. 2023, "Revisiting Discriminative vs. Generative Classifiers": the variance is the
    mean of those of the classes, weighted by their frequency, plus 1e-9 of the feature's own.

    Raises:
        ValueError: if there is only one class, or no feature varies.
    """
    given = _standardised(features, labels)
    counts = given.targets.sum(0)
    centres = given.targets.T @ given.x / counts[:, None]
    variance = np.square(given.x - centres[given.targets.argmax(1)]).mean(0) + 1e-9
    bias = np.log(counts / len(given.x)) - (np.square(centres) / variance).sum(1) / 2
    return given.classifier((centres / variance).T, bias, num_classes)


def linear_probe(
    features: Float[Array | np.ndarray, "n D"],
    labels: Int[Array | np.ndarray, " n"],
    num_classes: int,
    key: Key,
    *,
    fit: Fit = logistic_regression,
    num_splits: int = 2,
    test_fraction: float = 0.4,
) -> Estimate:
    """Test accuracy of a linear classifier on frozen features, over disjoint splits of examples.

    Args:
        features: features of each example, for instance :func:`~el_jax.probes.sentence_features`.
        labels: the class of each example, ``0 .. num_classes - 1``.
        num_classes: C.
        key: key of the splits.
        fit: ``fit(features, labels, num_classes)``, such as :func:`naive_bayes`.
        num_splits: number of splits; the paper has 5 seeds.
        test_fraction: share of a split's examples in its test set.

    Returns:
        The mean over splits, and its standard error.

    Raises:
        ValueError: if a feature is not finite, a label is not a class, or the training part of a
            split has only one class or no feature that varies.
    """
    features, labels = np.asarray(features), np.asarray(labels)
    require("features", "NaN or inf", bool(np.isfinite(features).all()), "finite")
    outside = labels[(labels < 0) | (labels >= num_classes)]
    require("labels", outside[:1].tolist(), not outside.size, f"in 0 .. {num_classes - 1}")
    accuracies = []
    splits = disjoint_splits(len(labels), key, num_splits=num_splits, test_fraction=test_fraction)
    for train, test in splits:
        classifier = fit(features[train], labels[train], num_classes)
        accuracies.append(np.mean(classifier.predict(features[test]) == labels[test]))
    return over_splits(accuracies)


def disjoint_splits(
    num: int, key: Key, *, num_splits: int = 2, test_fraction: float = 0.4
) -> list[tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]]:
    """Training and test examples of each split; no two splits share an example.

    Accuracies on them are independent, so their spread covers the draw of training and test sets.
    Folds of a cross-validation share training examples and give no such error.

    Raises:
        ValueError: if a split has no example of either kind.
    """
    size = num // num_splits
    num_test = round(test_fraction * size)
    allowed = f"such that both parts of {size} examples have some"
    require("test_fraction", test_fraction, 0 < num_test < size, allowed)
    order = np.asarray(jax.random.permutation(key, num))[: num_splits * size]
    return [(part[num_test:], part[:num_test]) for part in order.reshape(num_splits, size)]


def over_splits(values: Sequence[np.floating]) -> Estimate:
    """Mean and standard error over independent splits."""
    error = np.std(values, ddof=1) / len(values) ** 0.5
    return Estimate(jnp.asarray(np.mean(values)), jnp.asarray(error))


def _objective(
    flat: Float[Array, " k"],
    x: Float[Array, "n D"],
    targets: Float[Array, "n C"],
    l2: Float[Array, ""],
) -> Float[Array, ""]:
    weights = flat.reshape(-1, targets.shape[1])
    log_laws = jax.nn.log_softmax(x @ weights[:-1] + weights[-1][None])
    return -(targets * log_laws).sum(1).mean() + l2 / 2 * jnp.square(weights[:-1]).sum()


_value_and_gradient = jax.jit(jax.value_and_grad(_objective))


class _Standardised(NamedTuple):
    """Features of mean 0 and variance 1, and one-hot labels of the classes that occur.

    A feature that does not vary has deviation inf, so that it is 0 in any example.
    """

    x: Float[np.ndarray, "n D"]
    targets: Float[np.ndarray, "n present"]
    mean: Float[np.ndarray, " D"]
    deviation: Float[np.ndarray, " D"]
    present: Int[np.ndarray, " present"]

    def classifier(
        self, kernel: np.ndarray, bias: np.ndarray, num_classes: int, gap: float = 0.0
    ) -> LinearClassifier:
        """The classifier of the original features, among all classes."""
        of_features = kernel / self.deviation[:, None]
        whole = np.zeros((len(self.mean), num_classes)), np.full(num_classes, -np.inf)
        whole[0][:, self.present] = of_features
        whole[1][self.present] = bias - self.mean @ of_features
        return LinearClassifier(*whole, gap)


def _standardised(
    features: Float[np.ndarray, "n D"], labels: Int[np.ndarray, " n"]
) -> _Standardised:
    present, index = np.unique(labels, return_inverse=True)
    require("classes among the labels", present.tolist(), len(present) > 1, "two or more")
    features = np.asarray(features, np.float64)
    mean, deviation = features.mean(0), features.std(0)
    varies = deviation > _LEAST_VARIATION * np.abs(mean)
    require("features that vary", int(varies.sum()), bool(varies.any()), "one or more")
    deviation = np.where(varies, deviation, np.inf)
    return _Standardised(
        (features - mean) / deviation, np.eye(len(present))[index], mean, deviation, present
    )
