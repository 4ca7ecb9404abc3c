"""Traces of the Fisher matrix and of the Hessian of cross-entropy, whole and by group of leaves.

Checkpoints and runs measured with the same key see the same contexts, drawn labels and probes, so
their differences have far smaller errors than the traces themselves.
"""

import re
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.curvature import Fisher, Hessian, SampledEstimate
from el_jax.probes.contexts import (
    Logits,
    context_cross_entropy,
    context_logits,
    contexts_of,
)
from el_jax.probes.over_runs import over_runs
from el_jax.process.compilation import Once
from el_jax.tasks import Task
from el_jax.types import Batch, Key, ModelFns, Params, Probe

Grouping = Literal["kind", "layer", "module"]

NUM_LABELS = 4  # drawn per context: their error is below that of the contexts
NUM_PROBES = 2  # for the Hessian, per context
CHUNK = 8  # contexts at once
_NORM = re.compile(r"(^|[/_])ln\d*$")  # the name of a norm, as in ``layers_0/ln1`` and ``emb_ln``
_SEED = 0  # of the probe's draws, the same in every run


def curvature(task: Task, model: ModelFns, num: int = 1024) -> Probe:
    """Probe the curvature of cross-entropy on at most ``num`` tokens of the split "train".

    Returns the numbers of :func:`traces`, their standard errors ``..._sem``, and ``weight_norm``,
    the norm of all parameters. Cost: some 12 gradients per context.
    """
    windows, _ = contexts_of(Once(lambda: task.pack(task.train_set()))(), most=num)

    def of_run(params: Params, windows: Batch) -> dict[str, Array]:
        found = traces(context_logits(model), params, windows, jax.random.key(_SEED))
        sems = {f"{name}_sem": estimate.sem for name, estimate in found.items()}
        means = {name: estimate.mean for name, estimate in found.items()}
        return means | sems | {"weight_norm": weight_norm(params)}

    return over_runs(of_run, windows, one_by_one=True)


def traces(
    logits: Logits,
    params: Params,
    windows: Batch,
    key: Key,
    *,
    num_labels: int = NUM_LABELS,
    num_probes: int = NUM_PROBES,
    grouping: Grouping | None = None,
) -> dict[str, SampledEstimate]:
    """Traces of the Fisher matrix and of the Hessian of cross-entropy; errors include the contexts.

    ``fisher_trace`` is E ‖∇ log f(y)‖² at labels y drawn from the model f (Liu, Xie, Li, Ma 2023,
    appendix B.1), ``hessian_trace`` that of the Hessian at the labels of the data. They agree if
    the model is the true conditional. ``scale_free_trace`` is Σ_l ‖W_l‖² Tr F_ll over the leaves
    W_l, which is invariant to any scale that a norm removes.

    Args:
        logits: logits of one context, from :func:`context_logits`.
        params: θ.
        windows: the contexts, from :func:`contexts_of`.
        key: key of labels and probes.
        num_labels: draws per context, at least 2.
        num_probes: probes of the Hessian per context, at least 2.
        grouping: see :func:`group_function`; the Fisher traces of its groups, with names such as
            ``fisher_trace, biases``, come from the same scores. None for no groups.
    """
    label_key, probe_key = jax.random.split(key)

    fisher = Fisher(logits, params, windows, chunk=CHUNK)
    hessian = Hessian(context_cross_entropy(logits), params).over(windows, chunk=CHUNK)
    ones = jax.tree.map(lambda _: 1.0, params)
    squared = jax.tree.map(lambda leaf: jnp.square(leaf).sum(), params)
    parts = {"fisher_trace": ones, "scale_free_trace": squared}
    if grouping is not None:
        of_groups = group_parts(params, grouping)
        parts |= {f"fisher_trace, {group}": part for group, part in of_groups.items()}
    found = fisher.sampled_traces(parts, label_key, num_labels)
    return {**found, "hessian_trace": hessian.sampled_trace(probe_key, num_probes)}


def group_parts(params: Params, grouping: Grouping | Callable[[str], str]) -> dict[str, Any]:
    """Group -> 1 for its leaves and 0 for others, a tree like ``params``, for ``sampled_traces``.

    Args:
        params: θ.
        grouping: see :func:`group_function`.
    """
    group_of = group_function(grouping)
    groups = jax.tree_util.tree_map_with_path(
        lambda path, _: group_of(jax.tree_util.keystr(path, simple=True, separator="/")), params
    )
    return {
        group: jax.tree.map(lambda name, group=group: float(name == group), groups)
        for group in dict.fromkeys(jax.tree.leaves(groups))
    }


def group_function(grouping: Grouping | Callable[[str], str]) -> Callable[[str], str]:
    """The function from a leaf's name, such as ``layers_0/mlp/in/kernel``, to its group's name.

    Args:
        grouping: "kind" for embeddings, matrices, biases, and norms with their shifts; "layer" for
            each layer, and everything outside layers; "module" for each matrix with its bias, each
            norm and each table; or such a function itself.
    """
    named = {"kind": _kind, "layer": _layer, "module": _module}
    return grouping if callable(grouping) else named[grouping]


def _kind(name: str) -> str:
    module, _, last = name.rpartition("/")
    if last == "kernel":
        return "matrices"
    if last == "scale" or (last == "bias" and _NORM.search(module)):
        return "norms"
    return "biases" if last == "bias" else "embeddings"


def _layer(name: str) -> str:
    first = name.partition("/")[0]
    return first if first.startswith("layer") else "outside layers"


def _module(name: str) -> str:
    return name.rpartition("/")[0] or name


def weight_norm(params: Params) -> Array:
    """The norm of all parameters, ‖θ‖."""
    return jnp.sqrt(jnp.stack([jnp.square(leaf).sum() for leaf in jax.tree.leaves(params)]).sum())
