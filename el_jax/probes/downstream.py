"""The worth of a masked language model's features for the labels of its world.

Liu, Xie, Li, Ma 2023 (arXiv 2210.14199) pre-train, freeze, and train a linear classifier on the
vectors of all tokens: of a grammar's sentences for the symbol that spans their first words, of a
hidden Markov model's for the state at a position. Beside every accuracy are those that need no
network: of the most frequent class, of the class most probable given the sentence, and of the same
classifier on the paper's lookup table. That table holds the conditional of every masked context,
has the least loss of all models, and its features are those conditionals, one word after the other.
"""

import functools
import operator
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from el_jax.probes.linear_classifiers import Fit, logistic_regression, naive_bayes
from el_jax.probes.linear_probe import disjoint_splits, linear_probe, project, sentence_features
from el_jax.runtime.compilation import Once
from el_jax.runtime.errors import require
from el_jax.tasks import MaskedWords, Task
from el_jax.types import Batch, Estimate, ModelFns, Params, Probe
from el_jax.worlds import LabelRates, label_rates

WIDEST = 512  # entries; wider features are projected, as in the paper
NUM_SPLITS, TEST_FRACTION, SPLIT_SEED = 2, 0.4, 2
TOLERANCE = 1e-4  # nats; far below what moves an accuracy
CHUNK = 256  # sentences at once


class Examples(NamedTuple):
    """Sentences with their labels, nothing of them hidden.

    Attributes:
        windows: the sentences.
        tokens: their words, ``[n, T]``.
        labels: label -> the class of each sentence, -1 for none.
        num_classes: label -> C.
        rates: label -> the accuracies that need no classifier.
    """

    windows: Batch
    tokens: Int[Array, "n T"]
    labels: dict[str, Int[np.ndarray, " n"]]
    num_classes: dict[str, int]
    rates: dict[str, LabelRates]

    def of_class(self, name: str) -> tuple[Int[np.ndarray, " k"], Int[np.ndarray, " k"]]:
        """The sentences that have a class of a label, and those classes."""
        rows = np.flatnonzero(self.labels[name] >= 0)
        return rows, self.labels[name][rows]


def downstream(task: Task, model: ModelFns, num: int = 10_000) -> Probe:
    """Probe of the accuracy of linear classifiers on ``num`` sentences, with no word hidden.

    ``downstream_LABEL`` is the accuracy of :func:`linear_probe` on frozen features for each label
    of ``task.downstream``, and ``downstream_LABEL_sem`` its error over two disjoint halves of the
    sentences, of which .6 train a classifier and .4 test it. ``downstream_LABEL_majority`` and
    ``downstream_LABEL_bayes`` are the accuracies of the most frequent class and of the class most
    probable given the sentence, ``downstream_LABEL_lookup`` that of the same classifier on the true
    conditionals; they are measured once. Features of more than 512 entries are projected to so
    many.

    Raises:
        ValueError: the task's words are not masked words of a world with labels, a label has one
            class only, or the model has no features.
    """
    fit = partial(logistic_regression, tolerance=TOLERANCE)
    return _of_features("downstream", task, model, num, fit)


def by_naive_bayes(task: Task, model: ModelFns, num: int = 10_000) -> Probe:
    """The numbers of :func:`downstream` of Gaussian naive Bayes, as ``naive_bayes_LABEL``.

    It needs fewer examples than logistic regression where features are arranged by class.
    """
    return _of_features("naive_bayes", task, model, num, naive_bayes)


def labelled_examples(prefix: str, task: Task, model: ModelFns, num: int) -> Examples:
    """``num`` sentences with the labels of ``task.downstream``, or of all labels of its world.

    Args:
        prefix: of the names of the probe's numbers, for messages.
        task: masked.
        model: one with features.
        num: sentences.

    Raises:
        ValueError: the task's words are not masked words of a world with labels, a label has one
            class only, or the model has no features.
    """
    if not isinstance(task, MaskedWords):
        raise ValueError(f"needs the task masked, not {type(task).__name__}")
    if model.features is None:
        raise ValueError("needs a model with features, one that has hidden states")
    classes = task.world.make().num_classes
    names = task.downstream or tuple(classes)
    require("task.downstream", names, bool(names), "of a world with labels")
    windows, tokens, labels, rates = Once(lambda: _drawn(task, num))()
    found = {name: np.asarray(labels[name]) for name in names}
    examples = Examples(windows, tokens, found, {name: classes[name] for name in names}, rates)
    for name in names:
        _check_classes(f"{prefix}_{name}: classes among its labels", examples.of_class(name)[1])
    return examples


def rates_beside(
    prefix: str, task: Task, examples: Examples, fit: Fit
) -> Callable[[], dict[str, float]]:
    """The function to the accuracies that need no network, which it measures when first called.

    Args:
        prefix: of the names of the numbers.
        task: masked.
        examples: of the task.
        fit: of the classifier on the true conditionals.
    """
    assert isinstance(task, MaskedWords)  # see labelled_examples
    world = task.world.make()

    def conditionals(tokens: Array) -> Array:
        found = jax.lax.map(world.log_conditionals, tokens, batch_size=CHUNK)
        return _narrow(jnp.nan_to_num(jnp.exp(found)).reshape(len(tokens), -1))  # of filling: none

    @functools.cache
    def measured() -> dict[str, float]:
        features, found = np.asarray(jax.jit(conditionals)(examples.tokens)), {}
        for name, rates in examples.rates.items():
            if name in examples.labels:
                lookup = _accuracy(features, examples, name, fit)
                found[f"{prefix}_{name}_majority"] = float(rates.majority.mean)
                found[f"{prefix}_{name}_bayes"] = float(rates.bayes.mean)
                found[f"{prefix}_{name}_lookup"] = float(lookup.mean)
        return found

    return measured


def over_runs(of_run: Callable[[Params], dict[str, Array | float]]) -> Probe:
    """The probe of a function of the parameters of one run, called for one run after the other."""

    def of_params(params: Params) -> dict[str, Array]:
        num_runs = len(jax.tree.leaves(params)[0])
        runs = [of_run(jax.tree.map(operator.itemgetter(i), params)) for i in range(num_runs)]
        return {name: jnp.stack([jnp.asarray(run[name]) for run in runs]) for name in runs[0]}

    return Probe(of_params=of_params)


def _of_features(prefix: str, task: Task, model: ModelFns, num: int, fit: Fit) -> Probe:
    examples = labelled_examples(prefix, task, model, num)
    beside = rates_beside(prefix, task, examples, fit)

    @jax.jit
    def read(params: Params, windows: Batch) -> Array:
        return _narrow(sentence_features(model, params, windows))

    def of_run(params: Params) -> dict[str, Array | float]:
        features = np.asarray(read(params, examples.windows))
        found: dict[str, Array | float] = dict(beside())
        for name in examples.labels:
            accuracy = _accuracy(features, examples, name, fit)
            found[f"{prefix}_{name}"], found[f"{prefix}_{name}_sem"] = accuracy
        return found

    return over_runs(of_run)


def _drawn(
    task: MaskedWords, num: int
) -> tuple[Batch, Array, dict[str, Array], dict[str, LabelRates]]:
    """Windows with nothing hidden, their words, labels, and accuracies without a classifier."""
    sentences, world = task.downstream_set(num), task.world.make()
    rates = label_rates(world, jax.random.key(task.data_seed), num)
    return task.whole(sentences.tokens), sentences.tokens, world.labels(sentences), rates


def _check_classes(what: str, labels: Int[np.ndarray, " k"]) -> None:
    """Refuses labels of which a classifier would see one class."""
    key = jax.random.key(SPLIT_SEED)
    for train, _ in disjoint_splits(
        len(labels), key, num_splits=NUM_SPLITS, test_fraction=TEST_FRACTION
    ):
        present = np.unique(labels[train]).tolist()
        require(what, present, len(present) > 1, "two or more")


def _narrow(features: Float[Array, "n D"]) -> Float[Array, "n d"]:
    wide = features.shape[1] > WIDEST
    return project(features, jax.random.key(1), WIDEST) if wide else features


def _accuracy(features: np.ndarray, examples: Examples, name: str, fit: Fit) -> Estimate:
    """Of a linear probe; NaN for the features of a run that is no longer finite."""
    rows, label = examples.of_class(name)
    if not np.isfinite(features[rows]).all():
        return Estimate(jnp.array(jnp.nan), jnp.array(jnp.nan))
    return linear_probe(
        features[rows], label, examples.num_classes[name], jax.random.key(SPLIT_SEED),
        fit=fit, num_splits=NUM_SPLITS, test_fraction=TEST_FRACTION,
    ).accuracy  # fmt: skip
