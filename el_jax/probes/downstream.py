"""Downstream accuracy of a masked language model on its world's labels: frozen, or fine-tuned.

Liu, Xie, Li, Ma 2023 (arXiv 2210.14199) pre-train, freeze, and train a linear classifier on the
vectors of all tokens. For a grammar it predicts the symbol that spans the first words, for a hidden
Markov model the state at a position. Each accuracy is reported with three that need no network: the
most frequent class, the class most probable given the sentence, and the same classifier on the
paper's lookup table. That table holds the conditional of every masked context and has the least
loss of all models; its features are those conditionals, one word after the other.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from el_jax.probes.fine_tune import (
    RECIPE,
    FineTuning,
    fine_tune,
    hidden_states,
    rows_of,
)
from el_jax.probes.linear_probe import (
    Fit,
    disjoint_splits,
    linear_probe,
    logistic_regression,
    naive_bayes,
)
from el_jax.process.compilation import Once
from el_jax.process.errors import require
from el_jax.tasks import MaskedWords, Task
from el_jax.types import Batch, Estimate, Key, ModelFns, Params, Probe
from el_jax.worlds import LabelRates, World, label_rates

WIDEST = 512  # entries; wider features are projected, as in the paper
SPLIT_SEED = 2
LOGISTIC: Fit = functools.partial(logistic_regression, tolerance=1e-4)  # nats; moves no accuracy
CHUNK = 256  # sentences at once


class Examples(NamedTuple):
    """Sentences with their labels, without hidden words.

    Attributes:
        world: their distribution.
        windows: the sentences.
        tokens: their words, ``[n, T]``.
        labels: label -> the class of each sentence, -1 for none.
        num_classes: label -> C.
        rates: label -> the accuracies that need no classifier.
    """

    world: World
    windows: Batch
    tokens: Int[Array, "n T"]
    labels: dict[str, Int[np.ndarray, " n"]]
    num_classes: dict[str, int]
    rates: dict[str, LabelRates]

    def of_class(self, name: str) -> tuple[Int[np.ndarray, " k"], Int[np.ndarray, " k"]]:
        """The sentences with a class under a label, and those classes."""
        rows = np.flatnonzero(self.labels[name] >= 0)
        return rows, self.labels[name][rows]


Accuracy = Callable[[str], Estimate]  # accuracy on a label; NaN for a run that is no longer finite


def downstream(task: Task, model: ModelFns, num: int = 10_000) -> Probe:
    """Probe the accuracy of linear classifiers on ``num`` sentences, with no word hidden.

    ``downstream_LABEL`` is the accuracy of :func:`linear_probe` on frozen features for each label
    of ``task.downstream``, and ``downstream_LABEL_sem`` its standard error over two disjoint halves
    of the sentences; in each, .6 train a classifier and .4 test it. ``downstream_LABEL_majority``
    and ``downstream_LABEL_bayes`` are the accuracies of the most frequent class and of the class
    most probable given the sentence, and ``downstream_LABEL_lookup`` that of the same classifier on
    the true conditionals. These three are measured once. Features with more than 512 entries are
    projected to 512.

    Raises:
        ValueError: the task does not mask words of a world with labels, a label has only one class,
            or the model has no features.
    """
    return _of_features("downstream", task, model, num, LOGISTIC)


def by_naive_bayes(task: Task, model: ModelFns, num: int = 10_000) -> Probe:
    """Probe the numbers of :func:`downstream` for Gaussian naive Bayes, as ``naive_bayes_LABEL``.

    It needs fewer examples than logistic regression where features are arranged by class.
    """
    return _of_features("naive_bayes", task, model, num, naive_bayes)


def fine_tuned(
    task: Task, model: ModelFns, num: int = 10_000, recipe: FineTuning = RECIPE
) -> Probe:
    """Probe the accuracy of the network fine-tuned for each label, from its first token's vector.

    ``fine_tuned_LABEL`` is the accuracy of :func:`fine_tune`, ``fine_tuned_LABEL_sem`` its error
    over the same halves of the same ``num`` sentences as in the probe "downstream";
    ``fine_tuned_LABEL_majority``, ``_bayes`` and ``_lookup`` are that probe's. Cost: with the
    default recipe ten passes over .6 of the sentences, for each label, run and evaluation.

    Raises:
        ValueError: as in :func:`downstream`, or a half has fewer training sentences than a batch.
    """
    examples = _labelled("fine_tuned", task, model, num)

    def of_run(params: Params) -> Accuracy:
        def accuracy(name: str) -> Estimate:
            if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(params)):
                return _lost()
            rows, labels = examples.of_class(name)
            windows, num_classes = rows_of(examples.windows, rows), examples.num_classes[name]
            key = jax.random.key(SPLIT_SEED)
            return fine_tune(model, params, windows, labels, num_classes, key, recipe)

        return accuracy

    return _probe("fine_tuned", examples, LOGISTIC, of_run)


def _of_features(prefix: str, task: Task, model: ModelFns, num: int, fit: Fit) -> Probe:
    examples = _labelled(prefix, task, model, num)

    @jax.jit
    def read(params: Params, windows: Batch) -> Array:
        return _narrow(sentence_features(model, params, windows))

    def of_run(params: Params) -> Accuracy:
        features = np.asarray(read(params, examples.windows))
        return lambda name: _accuracy(features, examples, name, fit)

    return _probe(prefix, examples, fit, of_run)


@functools.partial(jax.jit, static_argnames=("model", "chunk"))
def sentence_features(
    model: ModelFns, params: Params, batch: Batch, *, chunk: int = 256
) -> Float[Array, "B TD"]:
    """The vectors of all tokens of each window, one after the other; dropout is off.

    Args:
        model: one with ``features``.
        params: its parameters.
        batch: windows of tokens; their supervision is ignored.
        chunk: windows at once.
    """

    def of_window(window: Batch) -> Float[Array, " TD"]:
        return hidden_states(model, params, jax.tree.map(lambda leaf: leaf[None], window)).reshape(
            -1
        )

    return jax.lax.map(of_window, batch, batch_size=chunk)


def project(
    features: Float[Array | np.ndarray, "n D"], key: Key, width: int = 512
) -> Float[Array, "n {width}"]:
    """Project randomly (Gaussian) to ``width`` entries, which preserves squared lengths on average.

    Args:
        features: features of each example.
        key: key of the matrix; use the same for all sets of examples to be compared.
        width: entries of the result; 512 in the paper.
    """
    require("width", width, width >= 1, "at least 1")
    matrix = jax.random.normal(key, (features.shape[1], width)) / width**0.5
    return jnp.matmul(features, matrix, precision="highest")


def _labelled(prefix: str, task: Task, model: ModelFns, num: int) -> Examples:
    """``num`` sentences with the labels in ``task.downstream``, or all labels of its world."""
    if not isinstance(task, MaskedWords):
        raise ValueError(f"needs the task masked, not {type(task).__name__}")
    if model.features is None:
        raise ValueError("needs a model with features, one that has hidden states")
    world = task.world.make()
    names = task.label_names
    require("task.downstream", names, bool(names), "of a world with labels")

    def drawn() -> tuple[Batch, Array, dict[str, Array], dict[str, LabelRates]]:
        sentences = task.downstream_set(num)
        rates = label_rates(world, jax.random.key(task.data_seed), num)
        return task.whole(sentences.tokens), sentences.tokens, world.labels(sentences), rates

    windows, tokens, labels, rates = Once(drawn)()
    found = {name: np.asarray(labels[name]) for name in names}
    num_classes = {name: world.num_classes[name] for name in names}
    examples = Examples(world, windows, tokens, found, num_classes, rates)
    for name in names:
        classes = examples.of_class(name)[1]
        for train, _ in disjoint_splits(len(classes), jax.random.key(SPLIT_SEED)):
            present = np.unique(classes[train]).tolist()  # a classifier must see more than one
            what = f"{prefix}_{name}: classes among its labels"
            require(what, present, len(present) > 1, "two or more")
    return examples


def _probe(
    prefix: str, examples: Examples, fit: Fit, of_run: Callable[[Params], Accuracy]
) -> Probe:
    """The probe of accuracies, run by run, together with those that need no network."""
    beside = functools.cache(lambda: _without_network(prefix, examples, fit))

    def measured(params: Params) -> dict[str, Array | float]:
        found: dict[str, Array | float] = dict(beside())
        accuracy = of_run(params)
        for name in examples.labels:
            found[f"{prefix}_{name}"], found[f"{prefix}_{name}_sem"] = accuracy(name)
        return found

    def of_params(params: Params) -> dict[str, Array]:
        num_runs = len(jax.tree.leaves(params)[0])
        runs = [measured(rows_of(params, run)) for run in range(num_runs)]
        return {name: jnp.stack([jnp.asarray(run[name]) for run in runs]) for name in runs[0]}

    return Probe(of_params=of_params)


def _without_network(prefix: str, examples: Examples, fit: Fit) -> dict[str, float]:
    """Accuracies of the most frequent class, of the best classifier, and of the lookup table."""

    def conditionals(tokens: Array) -> Array:
        found = jax.lax.map(examples.world.log_conditionals, tokens, batch_size=CHUNK)
        return _narrow(jnp.nan_to_num(jnp.exp(found)).reshape(len(tokens), -1))  # 0 for padding

    features, found = np.asarray(jax.jit(conditionals)(examples.tokens)), {}
    for name in examples.labels:
        rates = examples.rates[name]
        found[f"{prefix}_{name}_majority"] = float(rates.majority.mean)
        found[f"{prefix}_{name}_bayes"] = float(rates.bayes.mean)
        found[f"{prefix}_{name}_lookup"] = float(_accuracy(features, examples, name, fit).mean)
    return found


def _accuracy(features: np.ndarray, examples: Examples, name: str, fit: Fit) -> Estimate:
    rows, labels = examples.of_class(name)
    if not np.isfinite(features[rows]).all():
        return _lost()
    return linear_probe(
        features[rows],
        labels,
        examples.num_classes[name],
        jax.random.key(SPLIT_SEED),
        fit=fit,
    )


def _lost() -> Estimate:
    """The accuracy of a run that is no longer finite."""
    return Estimate(jnp.array(jnp.nan), jnp.array(jnp.nan))


def _narrow(features: Float[Array, "n D"]) -> Float[Array, "n d"]:
    wide = features.shape[1] > WIDEST
    return project(features, jax.random.key(1), WIDEST) if wide else features
