"""The answers of ensembles: networks trained on the same strings, their probabilities averaged.

The experiment's runs import this file; their config names it.
"""

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.probes import PROBES
from el_jax.process.compilation import Once
from el_jax.tasks import PaddedCopy, Task
from el_jax.types import Batch, ModelFns, Params, Probe

TESTED = 2_000  # strings of each kind


def ensemble(task: Task, model: ModelFns) -> Probe:
    """Probe ensembles of the first 1, 2, .. R runs, whose values stand in the row of the last one.

    ``ensemble_copies`` is the share of the swap test that the ensemble copies,
    ``ensemble_hard_accuracy`` its accuracy on unseen hard strings and ``ensemble_hard_ce`` its
    cross-entropy there, in nats. ``gain_copies`` is ``ensemble_copies`` less the mean of the R runs
    alone.

    Raises:
        ValueError: the task is not the copy task.
    """
    if not isinstance(task, PaddedCopy):
        raise ValueError(f"needs the copy task, not {type(task).__name__}")

    def draw() -> tuple[Batch, Batch]:
        hard = dataclasses.replace(task, easy_fraction=0.0).test_set(TESTED)
        return task.pack(task.swap_set(TESTED)[0]), task.pack(hard)

    @jax.jit
    def of_params(params: Params, swapped: Batch, hard: Batch) -> dict[str, Array]:
        def answers(batch: Batch) -> tuple[Array, Array]:
            """Log-probabilities of every label, by each run and by the ensemble up to it."""
            alone = jax.lax.map(lambda p: jax.nn.log_softmax(model.apply(p, batch)), params)
            sizes = jnp.arange(1, len(alone) + 1).reshape(-1, 1, 1, 1)
            return alone, jax.lax.cumlogsumexp(alone, axis=0) - jnp.log(sizes)

        def right(log_p: Array, batch: Batch) -> Array:
            return (log_p.argmax(-1) == batch.labels[None]).mean((1, 2))

        alone, together = answers(swapped)
        copies = right(together, swapped)
        _, of_hard = answers(hard)
        of_label = jnp.take_along_axis(of_hard, hard.labels[None, ..., None], axis=-1)
        return {
            "ensemble_copies": copies,
            "gain_copies": copies - right(alone, swapped).mean(),
            "ensemble_hard_accuracy": right(of_hard, hard),
            "ensemble_hard_ce": -of_label.mean((1, 2, 3)),
        }

    batches = Once(draw)()
    return Probe(lambda params: of_params(params, *batches))


PROBES["ensemble"] = ensemble
