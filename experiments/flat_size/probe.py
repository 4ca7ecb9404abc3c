"""Fisher traces of groups of leaves that embedding a network multiplies by one factor.

The experiment's runs import this file; their config names it.
"""

import jax
from jax import Array

from el_jax.curvature import Fisher
from el_jax.probes import PROBES, context_logits, contexts_of
from el_jax.probes.curvature import CHUNK, NUM_LABELS, group_parts
from el_jax.probes.over_runs import over_runs
from el_jax.process.compilation import Once
from el_jax.tasks import Task
from el_jax.types import Batch, ModelFns, Params, Probe

TABLES = ("tok_emb", "pos_emb", "type_emb")
GROUPS = ("embeddings", "matrices", "biases_norms", "last_norm", "head_bias")


def group_of(name: str) -> str:
    """The group of a leaf of ``budget_bert``, as ``el_jax.models.surgery.Replica`` names it."""
    place, _, leaf = name.rpartition("/")
    if name in TABLES:
        return "embeddings"
    if leaf == "kernel":
        return "matrices"
    return {"head": "head_bias", "head_ln": "last_norm"}.get(place, "biases_norms")


def size_traces(task: Task, model: ModelFns, num: int = 512) -> Probe:
    """Probe ``fisher_GROUP`` for each of ``GROUPS``, on ``num`` contexts of the split "train"."""
    windows, _ = contexts_of(Once(lambda: task.pack(task.train_set()))(), most=num)

    def of_run(params: Params, windows: Batch) -> dict[str, Array]:
        label_key, _ = jax.random.split(jax.random.key(0))
        fisher = Fisher(context_logits(model), params, windows, chunk=CHUNK)
        found = fisher.sampled_traces(group_parts(params, group_of), label_key, NUM_LABELS)
        return {f"fisher_{group}": estimate.mean for group, estimate in found.items()}

    return over_runs(of_run, windows, one_by_one=True)


PROBES["size_traces"] = size_traces
