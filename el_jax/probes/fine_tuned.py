"""The worth of a masked language model for the labels of its world, when it may be trained on."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from el_jax.probes.downstream import (
    NUM_SPLITS,
    SPLIT_SEED,
    TEST_FRACTION,
    TOLERANCE,
    labelled_examples,
    over_runs,
    rates_beside,
)
from el_jax.probes.fine_tune import FineTuning, fine_tune
from el_jax.probes.linear_classifiers import logistic_regression
from el_jax.tasks import Task
from el_jax.types import ModelFns, Params, Probe

RECIPE = FineTuning()


def fine_tuned(
    task: Task, model: ModelFns, num: int = 10_000, recipe: FineTuning = RECIPE
) -> Probe:
    """Probe of the accuracy of the network trained on for each label, by its first token's vector.

    ``fine_tuned_LABEL`` is the accuracy of :func:`fine_tune`, ``fine_tuned_LABEL_sem`` its error
    over the same two halves of the same ``num`` sentences as of the probe "downstream";
    ``fine_tuned_LABEL_majority``, ``_bayes`` and ``_lookup`` are that probe's. Cost: by the recipe
    ten passes over .6 of the sentences, for each label, run and evaluation.

    Raises:
        ValueError: as of ``downstream``, or a half has fewer training sentences than a batch.
    """
    examples = labelled_examples("fine_tuned", task, model, num)
    fit = partial(logistic_regression, tolerance=TOLERANCE)
    beside = rates_beside("fine_tuned", task, examples, fit)

    def of_run(params: Params) -> dict[str, Array | float]:
        lost = not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(params))
        found: dict[str, Array | float] = dict(beside())
        for name, num_classes in examples.num_classes.items():
            rows, labels = examples.of_class(name)
            windows = jax.tree.map(lambda leaf, rows=rows: leaf[rows], examples.windows)
            accuracy = fine_tune(
                model, params, windows, labels, num_classes, jax.random.key(SPLIT_SEED),
                recipe=recipe, num_splits=NUM_SPLITS, test_fraction=TEST_FRACTION,
            )  # fmt: skip
            mean, sem = (jnp.where(lost, jnp.nan, number) for number in accuracy)
            found[f"fine_tuned_{name}"], found[f"fine_tuned_{name}_sem"] = mean, sem
        return found

    return over_runs(of_run)
