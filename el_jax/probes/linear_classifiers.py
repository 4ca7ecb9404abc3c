"""Linear classifiers of features: logistic regression, certified, and naive Bayes.

Both standardise the features first, so an affine change of any feature changes nothing, and both
give one :class:`LinearClassifier` of the features as they were.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy  # whose parts are imported where they are used: a command starts sooner
from jax import Array
from jaxtyping import Float, Int

from el_jax.runtime.double_precision import float64
from el_jax.runtime.errors import require

MAX_ITERATIONS = 10_000
_LEAST_SLOPE = 1e-12  # of an entry of the gradient, below which float64 has nothing left to tell
# A feature that varies by less, over its mean, holds float32's rounding and nothing else.
_LEAST_VARIATION = 1e-6


class LinearClassifier(NamedTuple):
    """The class with the largest entry of ``features @ kernel + bias``.

    Attributes:
        kernel: ``[D, C]`` in float64.
        bias: ``[C]``; -inf for a class without examples, which is never predicted.
        gap: a bound on its objective above the least one, in nats; 0 for a closed form.
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
    """Multinomial logistic regression, cross-entropy + l2 / 2 Σ_c w_cᵀ (S + δ I) w_c, minimised.

    w_c acts on features of mean 0 and variance 1 in the examples, S is their correlation matrix,
    and the bias is free. The penalty is the variance of the logits and a little of |w_c|², so that
    a direction in which features vary little is not lost for being small. |w_c|² alone makes
    the problem ill-conditioned where features are correlated, as those of transformers are. In
    float64, by L-BFGS in coordinates where the penalty is round.

    Args:
        features: of each example.
        labels: the class of each example.
        num_classes: C.
        l2: weight of the penalty, positive.
        shrinkage: δ, positive.
        tolerance: largest duality gap, in nats.

    Raises:
        ValueError: if ``l2`` or ``shrinkage`` is not positive, or there is one class only, or no
            feature varies.
        RuntimeError: if the gap stays above ``tolerance``.
    """
    require("l2", l2, l2 > 0, "positive, for a minimum to exist")
    require("shrinkage", shrinkage, shrinkage > 0, "positive, as features may repeat each other")
    present, index = _classes(labels)
    x, mean, deviation = _standardised(features)
    round_root = _inverse_root(x, shrinkage)
    x = x @ round_root
    targets = np.eye(len(present))[index]
    with float64():
        given = jnp.asarray(x), jnp.asarray(targets), jnp.asarray(l2)

        def value_and_gradient(flat: Float[np.ndarray, " k"]) -> tuple[float, np.ndarray]:
            value, gradient = _value_and_gradient(jnp.asarray(flat), *given)
            return float(value), np.asarray(gradient)

        at, gap = np.zeros((x.shape[1] + 1) * len(present)), np.inf
        slope, iterations = tolerance, 0
        while (
            gap > tolerance and slope > _LEAST_SLOPE and (left := MAX_ITERATIONS - iterations) > 0
        ):
            slope /= 100  # leaves a small gap, except where a class is rare
            options = {"maxiter": left, "maxfun": 2 * left, "ftol": 0, "gtol": slope}
            found = scipy.optimize.minimize(
                value_and_gradient, at, jac=True, method="L-BFGS-B", options=options
            )
            iterations += found.nit
            at, weights = found.x, found.x.reshape(-1, len(present))
            gap = float(found.fun) - dual_value(weights, x, targets, l2)
    if not gap <= tolerance:
        raise RuntimeError(
            f"duality gap {gap:.2g} nats after {iterations} iterations: must be at most "
            f"{tolerance:.2g}; a larger l2 than {l2:.2g} is easier"
        )
    kernel = round_root @ weights[:-1]
    return _unstandardised(kernel, weights[-1], mean, deviation, present, num_classes, gap)


def dual_value(
    weights: Float[np.ndarray, "Dplus1 C"],
    x: Float[np.ndarray, "n D"],
    targets: Float[np.ndarray, "n C"],
    l2: float,
) -> float:
    """A lower bound on the regularised cross-entropy of every classifier, in nats.

    For laws p_i with the same mean as the targets y_i, weak duality gives
    Σ H(p_i) / n - |Xᵀ (Y - P) / n|² / (2 l2). It is tight at the laws of the best classifier.

    Args:
        weights: a classifier's kernel and, in the last row, bias, from which the laws are made.
        x: features in coordinates where the penalty is l2 / 2 times the square of the kernel.
        targets: one-hot labels, of classes that occur.
        l2: weight of the penalty.
    """
    laws = scipy.special.softmax(x @ weights[:-1] + weights[-1], axis=1)
    frequencies, means = targets.mean(0), laws.mean(0)
    # The mean is right up to the gradient of the bias; a share of one more law makes it right.
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

    Args:
        features: of each example.
        labels: the class of each example.
        num_classes: C.

    Raises:
        ValueError: if there is one class only, or no feature varies.
    """
    present, index = _classes(labels)
    x, mean, deviation = _standardised(features)
    targets = np.eye(len(present))[index]
    counts = targets.sum(0)
    centres = targets.T @ x / counts[:, None]
    variance = np.square(x - centres[index]).mean(0) + 1e-9
    kernel = (centres / variance).T
    bias = np.log(counts / len(x)) - (np.square(centres) / variance).sum(1) / 2
    return _unstandardised(kernel, bias, mean, deviation, present, num_classes)


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


def _classes(labels: Int[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray]:
    """The classes that occur, and the place of each label among them."""
    present, index = np.unique(labels, return_inverse=True)
    require("classes among the labels", present.tolist(), len(present) > 1, "two or more")
    return present, index


def _standardised(features: Float[np.ndarray, "n D"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of mean 0 and variance 1, their means, and their deviations.

    A feature that does not vary has deviation inf, so that it is 0 in any example.
    """
    features = np.asarray(features, np.float64)
    mean, deviation = features.mean(0), features.std(0)
    varies = deviation > _LEAST_VARIATION * np.abs(mean)
    require("features that vary", int(varies.sum()), bool(varies.any()), "one or more")
    deviation = np.where(varies, deviation, np.inf)
    return (features - mean) / deviation, mean, deviation


def _inverse_root(x: Float[np.ndarray, "n D"], shrinkage: float) -> Float[np.ndarray, "D D"]:
    """R with R Rᵀ = (S + δ I)⁻¹, S the matrix of second moments."""
    variances, directions = np.linalg.eigh(x.T @ x / len(x))
    return directions / np.sqrt(np.maximum(variances, 0) + shrinkage)


def _unstandardised(
    kernel: np.ndarray,
    bias: np.ndarray,
    mean: np.ndarray,
    deviation: np.ndarray,
    present: np.ndarray,
    num_classes: int,
    gap: float = 0.0,
) -> LinearClassifier:
    """The classifier of features as they are given, among all classes."""
    of_features = kernel / deviation[:, None]
    all_kernel, all_bias = np.zeros((len(mean), num_classes)), np.full(num_classes, -np.inf)
    all_kernel[:, present] = of_features
    all_bias[present] = bias - mean @ of_features
    return LinearClassifier(all_kernel, all_bias, gap)
