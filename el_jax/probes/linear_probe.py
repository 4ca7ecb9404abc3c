"""Linear classifiers of frozen features: the features' worth for a task they were not trained for.

    features = sentence_features(model, params, batch)  # [n, T D], of sentences with labels
    found = linear_probe(features, labels, num_classes=50, key=jax.random.key(0))
    found.accuracy, found.majority, found.chance

Liu, Xie, Li, Ma 2023 (arXiv 2210.14199) train such a classifier on the vectors of all tokens for
100 epochs of AdamW. Here it is the minimum of a convex objective, certified by a duality gap, so no
schedule of its training comes between a model and its accuracy. ``naive_bayes`` on the same
features tells a linear arrangement from one that few examples reveal.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from el_jax.probes.linear_classifiers import Fit, logistic_regression
from el_jax.runtime.errors import require
from el_jax.types import Batch, Estimate, Key, ModelFns, Params


class ProbeResult(NamedTuple):
    """Accuracies on test examples.

    Attributes:
        accuracy: mean over the splits, with its standard error.
        majority: likewise, of always answering the class that is most frequent in training.
        chance: 1 / C.
        gap: largest over the splits' classifiers, in nats.
        of_splits: accuracy on each split; for paired differences of models, which see the same
            splits where key and labels are the same.
    """

    accuracy: Estimate
    majority: Estimate
    chance: float
    gap: float
    of_splits: Float[np.ndarray, " splits"]


@functools.partial(jax.jit, static_argnames=("model", "chunk"))
def sentence_features(
    model: ModelFns, params: Params, batch: Batch, *, chunk: int = 256
) -> Float[Array, "B TD"]:
    """The vectors of all tokens of each window, one after the other; dropout is off.

    Args:
        model: one with ``features``.
        params: its parameters.
        batch: windows of tokens; what they supervise does not matter.
        chunk: windows at once.

    Raises:
        ValueError: if the model has no features.
    """
    features = model.features
    if features is None:
        raise ValueError("needs a model with features, one that has hidden states")

    def of_window(window: Batch) -> Float[Array, " TD"]:
        return features(params, jax.tree.map(lambda leaf: leaf[None], window)).reshape(-1)

    return jax.lax.map(of_window, batch, batch_size=chunk)


def project(
    features: Float[Array | np.ndarray, "n D"], key: Key, width: int = 512
) -> Float[Array, "n {width}"]:
    """Random Gaussian projection, which keeps squared lengths on average.

    Args:
        features: of each example.
        key: of the matrix, the same for all sets of examples that are to be compared.
        width: entries that are left; 512 in the paper.
    """
    require("width", width, width >= 1, "at least 1")
    matrix = jax.random.normal(key, (features.shape[1], width)) / width**0.5
    return jnp.matmul(features, matrix, precision="highest")


def disjoint_splits(
    num: int, key: Key, *, num_splits: int = 5, test_fraction: float = 0.2
) -> list[tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]]:
    """Training and test examples of each split; no two splits share an example.

    Accuracies on them are independent, so their spread covers the draw of training and test set.
    The folds of a cross-validation share training examples and have no such error.

    Raises:
        ValueError: if there are fewer than two splits, or a split has no example of either kind.
    """
    require("num_splits", num_splits, num_splits >= 2, "at least 2, for a standard error")
    size = num // num_splits
    num_test = round(test_fraction * size)
    allowed = f"such that both parts of {size} examples have some"
    require("test_fraction", test_fraction, 0 < num_test < size, allowed)
    order = np.asarray(jax.random.permutation(key, num))[: num_splits * size]
    return [(part[num_test:], part[:num_test]) for part in order.reshape(num_splits, size)]


def linear_probe(
    features: Float[Array | np.ndarray, "n D"],
    labels: Int[Array | np.ndarray, " labels"],
    num_classes: int,
    key: Key,
    *,
    fit: Fit = logistic_regression,
    num_splits: int = 5,
    test_fraction: float = 0.2,
) -> ProbeResult:
    """Accuracy of a linear classifier of frozen features, over disjoint splits of the examples.

    Args:
        features: of each example, for instance :func:`sentence_features`.
        labels: the class of each example, ``0 .. num_classes - 1``.
        num_classes: C.
        key: of the splits.
        fit: ``fit(features, labels, num_classes)``, such as ``naive_bayes``.
        num_splits: splits; 5 in the paper.
        test_fraction: share of a split's examples that are tested.

    Raises:
        ValueError: if the examples are not as described, or the training part of a split has one
            class only or no feature that varies.
    """
    features, labels = np.asarray(features), np.asarray(labels)
    _check_examples(features, labels, num_classes)
    splits = disjoint_splits(len(labels), key, num_splits=num_splits, test_fraction=test_fraction)
    accuracies, majorities, gaps = [], [], []
    for train, test in splits:
        classifier = fit(features[train], labels[train], num_classes)
        accuracies.append(np.mean(classifier.predict(features[test]) == labels[test]))
        majorities.append(np.mean(labels[test] == np.bincount(labels[train]).argmax()))
        gaps.append(classifier.gap)
    return ProbeResult(
        over_splits(accuracies),
        over_splits(majorities),
        1 / num_classes,
        max(gaps),
        np.array(accuracies),
    )


def _check_examples(features: np.ndarray, labels: np.ndarray, num_classes: int) -> None:
    shape, num = features.shape, labels.size
    require("features.shape", shape, (*shape[:1], len(shape)) == (num, 2), f"[{num} labels, D]")
    require("features", "NaN or inf", bool(np.isfinite(features).all()), "finite")
    check_labels(labels, num_classes)


def check_labels(labels: Int[np.ndarray, " n"], num_classes: int) -> Int[np.ndarray, " n"]:
    """The labels.

    Raises:
        ValueError: one of them is none of ``0 .. num_classes - 1``.
    """
    outside = labels[(labels < 0) | (labels >= num_classes)]
    require("labels", outside[:1].tolist(), not outside.size, f"in 0 .. {num_classes - 1}")
    return labels


def over_splits(values: list[np.floating]) -> Estimate:
    """Mean and standard error of the numbers of independent splits."""
    error = np.std(values, ddof=1) / len(values) ** 0.5
    return Estimate(jnp.asarray(np.mean(values)), jnp.asarray(error))
