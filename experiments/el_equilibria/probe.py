"""The probe ``small_margins``; the experiment's runs import this file, their config names it."""

import jax
from jax import Array

from el_jax.losses import token_stats
from el_jax.probes import PROBES
from el_jax.probes.over_runs import over_runs
from el_jax.process.compilation import Once
from el_jax.tasks import Task
from el_jax.types import Batch, ModelFns, Params, Probe

SMALL = 1.0  # nats: E1's small equilibrium lies below it, its large one above


def small_margins(task: Task, model: ModelFns) -> Probe:
    """Probe the share of training answers that are right by less than ``SMALL``; also their median.

    ``small_margins`` is that share of the right answers; ``median_margin`` is of all, in nats.
    """
    batch = Once(lambda: task.pack(task.train_set()))()

    def of_run(params: Params, batch: Batch) -> dict[str, Array]:
        stats = token_stats(model.apply(params, batch), batch.labels)
        margins = stats.label_logit - stats.max_other
        right = margins > 0
        small = (right & (margins < SMALL)).sum() / right.sum().clip(1)
        return {"small_margins": small, "median_margin": jax.numpy.median(margins)}

    return over_runs(of_run, batch)


PROBES["small_margins"] = small_margins
