"""The worth of a masked language model's features for the labels of its world.

Liu, Xie, Li, Ma 2023 (arXiv 2210.14199) pre-train, freeze, and train a linear classifier on the
vectors of all tokens: of a grammar's sentences for the symbol that spans their first words, of a
hidden Markov model's for the state at a position.
"""

import operator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from el_jax.probes.linear_classifiers import logistic_regression
from el_jax.probes.linear_probe import linear_probe, project, sentence_features
from el_jax.runtime.compilation import Once
from el_jax.runtime.errors import require
from el_jax.tasks import MaskedWords, Task
from el_jax.types import Batch, Estimate, ModelFns, Params, Probe
from el_jax.worlds import LabelRates, label_rates

WIDEST = 512  # entries; wider features are projected, as in the paper
NUM_SPLITS, TEST_FRACTION = 2, 0.4
TOLERANCE = 1e-4  # nats; far below what moves an accuracy


def downstream(task: Task, model: ModelFns, num: int = 10_000) -> Probe:
    """Probe of the accuracy of linear classifiers on ``num`` sentences, with no word hidden.

    ``downstream_LABEL`` is the accuracy of :func:`linear_probe` on frozen features for each label
    of ``task.downstream``, and ``downstream_LABEL_sem`` its error over two disjoint halves of the
    sentences, of which .6 train a classifier and .4 test it. ``downstream_LABEL_majority`` and
    ``downstream_LABEL_bayes`` are the accuracies of the most frequent class and of the class most
    probable given the sentence. Features of more than 512 entries are projected to so many.

    Raises:
        ValueError: the task's words are not masked words of a world with labels, or the model has
            no features.
    """
    if not isinstance(task, MaskedWords):
        raise ValueError(f"needs the task masked, not {type(task).__name__}")
    if model.features is None:
        raise ValueError("needs a model with features, one that has hidden states")
    classes = task.world.make().num_classes
    names = task.downstream or tuple(classes)
    require("task.downstream", names, bool(names), "of a world with labels")
    batch, labels, rates = Once(lambda: _examples(task, num))()
    labels = {name: np.asarray(labels[name]) for name in names}

    @jax.jit
    def read(params: Params, batch: Batch) -> Array:
        features = sentence_features(model, params, batch)
        wide = features.shape[1] > WIDEST
        return project(features, jax.random.key(1), WIDEST) if wide else features

    def of_run(params: Params) -> dict[str, Array]:
        features, found = np.asarray(read(params, batch)), {}
        for name, label in labels.items():
            accuracy = _accuracy(features[label >= 0], label[label >= 0], classes[name])
            found[f"downstream_{name}"], found[f"downstream_{name}_sem"] = accuracy
            found[f"downstream_{name}_majority"] = rates[name].majority.mean
            found[f"downstream_{name}_bayes"] = rates[name].bayes.mean
        return found

    def of_params(params: Params) -> dict[str, Array]:
        num_runs = len(jax.tree.leaves(params)[0])
        runs = [of_run(jax.tree.map(operator.itemgetter(i), params)) for i in range(num_runs)]
        return {name: jnp.stack([jnp.asarray(run[name]) for run in runs]) for name in runs[0]}

    return Probe(of_params=of_params)


def _examples(task: MaskedWords, num: int) -> tuple[Batch, dict[str, Array], dict[str, LabelRates]]:
    """Windows with nothing hidden, labels, and the accuracies that need no classifier."""
    sentences, world = task.downstream_set(num), task.world.make()
    rates = label_rates(world, jax.random.key(task.data_seed), num)
    return task.whole(sentences.tokens), world.labels(sentences), rates


def _accuracy(features: np.ndarray, label: np.ndarray, num_classes: int) -> Estimate:
    """Of a linear probe; NaN for the features of a run that is no longer finite."""
    if not np.isfinite(features).all():
        return Estimate(jnp.array(jnp.nan), jnp.array(jnp.nan))
    return linear_probe(
        features, label, num_classes, jax.random.key(2),
        fit=partial(logistic_regression, tolerance=TOLERANCE),
        num_splits=NUM_SPLITS, test_fraction=TEST_FRACTION,
    ).accuracy  # fmt: skip
