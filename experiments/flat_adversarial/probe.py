"""Accuracy of linear probes on the true conditionals: the paper's lookup table.

A table that holds the conditional of every masked context has the least loss, and its features are
the conditionals themselves, of each word in turn, one after the other.

Imported by the trainings of the experiment; their config names this module.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from el_jax.probes import PROBES, linear_probe
from el_jax.probes.downstream import NUM_SPLITS, TEST_FRACTION
from el_jax.runtime.compilation import Once
from el_jax.tasks import MaskedWords, Task
from el_jax.types import ModelFns, Params, Probe


def lookup(task: Task, model: ModelFns, num: int = 10_000) -> Probe:
    """Probe ``downstream_LABEL_lookup``, on the sentences and splits of the probe "downstream".

    It does not look at the network: measured once, and the same for all checkpoints and runs.
    """
    del model
    assert isinstance(task, MaskedWords)
    world = task.world.make()

    def examples() -> tuple[Array, dict[str, Array]]:
        sentences = task.downstream_set(num)
        conditionals = jnp.exp(world.log_conditionals(sentences.tokens))
        return conditionals.reshape(num, -1), world.labels(sentences)

    features, labels = Once(examples)()
    found = {
        f"downstream_{name}_lookup": linear_probe(
            np.asarray(features), np.asarray(labels[name]), world.num_classes[name],
            jax.random.key(2), num_splits=NUM_SPLITS, test_fraction=TEST_FRACTION,
        ).accuracy.mean
        for name in task.downstream
    }  # fmt: skip

    def of_params(params: Params) -> dict[str, Array]:
        num_runs = len(jax.tree.leaves(params)[0])
        return {name: jnp.full(num_runs, value) for name, value in found.items()}

    return Probe(of_params=of_params)


PROBES["lookup"] = lookup
