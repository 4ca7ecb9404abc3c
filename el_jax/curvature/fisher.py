"""The trace of the Fisher matrix, and the Hessian's trace by way of it.

With s_y = ∇ log p_y(x) the score of label y in context x, and N contexts with labels y_i:

==============  ===========================  ===============================================
``"all"``       Σ_i Σ_y p_y ‖s_y‖² / N       trace of the Fisher matrix
``"sampled"``   likewise, y drawn from p     the same, estimated
``"data"``      Σ_i ‖s_{y_i}‖² / N           trace of the empirical Fisher matrix
Tr H            -Σ_i Tr ∇² log p_{y_i} / N   trace of the Hessian of cross entropy
==============  ===========================  ===============================================

The Fisher matrix is the generalised Gauss-Newton matrix of softmax and cross entropy. All four
agree in expectation where the model's distribution is that of the labels, and nowhere else: Liu,
Xie, Li, Ma 2023 (arXiv 2210.14199) measure ``"sampled"`` with 50 labels in appendix B.1, while
their released code estimates Tr H.

A model is a function ``logits(params, context) -> [V]`` of one context. It is normalised here, so
log-probabilities serve as well.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from el_jax.curvature.arguments import check_count, check_examples, check_finite, check_params
from el_jax.curvature.gradient_norms import gradient_norms
from el_jax.curvature.products import second_derivative
from el_jax.curvature.sampling import (
    SampledEstimate,
    map_in_chunks,
    mean_over_contexts,
    numbered_keys,
    signs,
)
from el_jax.runtime.errors import require
from el_jax.types import Key, Params

Logits = Callable[[Params, Any], Array]
LABELS = ("all", "sampled", "data")


def fisher_trace(
    logits: Logits,
    params: Params,
    contexts: Any,
    *,
    labels: str,
    observed: Int[Array, " N"] | None = None,
    key: Key | None = None,
    num_labels: int = 50,
    weights: Float[Array, " N"] | None = None,
    chunk: int = 8,
    label_chunk: int = 1,
) -> SampledEstimate:
    """The trace of the Fisher matrix, or of the empirical one; see the head of this module.

    Cost: one forward pass for each context, and for each context and label half to two thirds of a
    backward pass, since gradients of matrices are not made (``gradient_norms.py``). Memory:
    ``chunk * label_chunk`` times what comes back to each layer, and the gradients of what is no
    matrix. A weight that is used twice is one parameter: its contributions add up before they are
    squared.

    Args:
        logits: of one context, ``[V]``.
        params: θ.
        contexts: a pytree whose leaves have one entry for each context, ``[N, ...]``.
        labels: at which labels the scores are taken, one of ``LABELS``.
        observed: the labels of the data, for ``"data"``.
        key: of the draws, for ``"sampled"``; with the same key two checkpoints see the same draws.
        num_labels: draws for each context, for ``"sampled"``; 50 in the paper.
        weights: of the contexts; equal when None.
        chunk: contexts at once.
        label_chunk: labels of a context at once.

    Returns:
        The estimate; ``probe_sem`` is the error of sampled labels, 0 for the others.

    Raises:
        ValueError: if there are fewer than two contexts or draws, if ``observed`` or ``key`` is
            missing, or if the result is not finite.
    """
    whole = {"trace": jax.tree.map(lambda _: 1.0, params)}
    return fisher_traces(
        logits, params, contexts, whole,
        labels=labels, observed=observed, key=key, num_labels=num_labels,
        weights=weights, chunk=chunk, label_chunk=label_chunk,
    )["trace"]  # fmt: skip


def fisher_traces(
    logits: Logits,
    params: Params,
    contexts: Any,
    parts: Mapping[str, Any],
    *,
    labels: str,
    observed: Int[Array, " N"] | None = None,
    key: Key | None = None,
    num_labels: int = 50,
    weights: Float[Array, " N"] | None = None,
    chunk: int = 8,
    label_chunk: int = 1,
) -> dict[str, SampledEstimate]:
    """Weighted sums Σ_l a_l Tr F_ll over the leaves of the parameters, all from the same scores.

    As many as are asked for cost what :func:`fisher_trace` costs, whose other arguments, errors and
    results these are.

    Args:
        logits: of one context, ``[V]``.
        params: θ.
        contexts: a pytree whose leaves have one entry for each context, ``[N, ...]``.
        parts: name -> a tree like ``params`` of numbers a_l: 1 for the leaves of a group and 0 for
            others gives the trace of its block, ‖W_l‖² the scale-free trace.
        labels: see :func:`fisher_trace`, as for all below.
        observed: the labels of the data.
        key: of the draws.
        num_labels: draws for each context.
        weights: of the contexts.
        chunk: contexts at once.
        label_chunk: labels of a context at once.
    """
    num = _check(params, contexts, weights, label_chunk)
    require("labels", labels, labels in LABELS, f"one of {', '.join(LABELS)}")
    if labels == "sampled":
        check_count("num_labels", num_labels, least=2)
        given: Array | None = None if key is None else numbered_keys(key, num)
        require("key", key, key is not None, "a key, for labels='sampled'")
    else:
        given = observed if labels == "data" else jnp.arange(num)
        require("observed", given, given is not None, "one label a context, for labels='data'")
        check_examples("contexts and observed", (contexts, given), weights)
    rows = [jnp.stack([jnp.asarray(a) for a in jax.tree.leaves(part)]) for part in parts.values()]

    def of_context(context_and_given: tuple[Any, Array]) -> Float[Array, "m parts"]:
        context, given = context_and_given
        norms_at, log_probs = _score_norms(logits, params, context, label_chunk, rows)
        if labels == "all":
            return _fisher_of(norms_at, log_probs)[None]
        if labels == "data":
            return norms_at(given[None])
        return norms_at(jax.random.categorical(given, log_probs, shape=(num_labels,)))

    values = map_in_chunks(of_context, (contexts, given), chunk)
    return {
        name: _finite_mean(values[:, :, place], weights, logits, params, contexts)
        for place, name in enumerate(parts)
    }


def controlled_hessian_trace(
    logits: Logits,
    params: Params,
    contexts: Any,
    targets: Int[Array, " N"] | Float[Array, "N V"],
    key: Key,
    num_probes: int = 2,
    *,
    weights: Float[Array, " N"] | None = None,
    chunk: int = 8,
    label_chunk: int = 1,
) -> SampledEstimate:
    """Tr H of cross entropy: the exact Fisher trace, and random probes for H minus Fisher.

    For log-probabilities u with derivatives u̇ and ü along a probe v, and targets q,
    vᵀ(H - F)v = -Σ_c (q_c ü_c + p_c u̇_c²), which one second derivative forwards gives. Probes err
    by H - F alone: not at all where q is the model's own distribution p, and with labels drawn
    from p by a sum with mean zero. The price is that of ``fisher_trace(labels="all")`` and
    ``num_probes`` products more for each context.

    Args:
        logits: of one context, ``[V]``.
        params: θ.
        contexts: a pytree whose leaves have one entry for each context, ``[N, ...]``.
        targets: labels of the data, or the distribution of the label in each context.
        key: of the probes; each context has probes of its own.
        num_probes: for each context.
        weights: of the contexts; equal when None.
        chunk: contexts at once.
        label_chunk: labels of a context at once.

    Raises:
        ValueError: if there are fewer than two contexts or probes, or the result is not finite.
    """
    num = _check(params, contexts, weights, label_chunk)
    check_examples("contexts and targets", (contexts, targets), weights)
    check_count("num_probes", num_probes, least=2)

    def of_context(inputs: tuple[Any, Array, Key]) -> Float[Array, " m"]:
        context, target, key = inputs
        norms_at, log_probs = _score_norms(logits, params, context, label_chunk)
        fisher = _fisher_of(norms_at, log_probs)[0]
        q = target if target.ndim else jax.nn.one_hot(target, log_probs.size, dtype=log_probs.dtype)

        def remainder(key: Key) -> Float[Array, ""]:
            slope, curve = second_derivative(
                lambda p: jax.nn.log_softmax(logits(p, context)), params, signs(key, params)
            )
            return -(q * curve + jnp.exp(log_probs) * jnp.square(slope)).sum()

        remainders = jax.lax.map(remainder, numbered_keys(key, num_probes))
        return fisher + remainders

    values = map_in_chunks(of_context, (contexts, targets, numbered_keys(key, num)), chunk)
    return _finite_mean(values, weights, logits, params, contexts)


def _score_norms(
    logits: Logits,
    params: Params,
    context: Any,
    label_chunk: int,
    rows: Sequence[Float[Array, " L"]] | None = None,
) -> tuple[Callable[[Array], Array], Float[Array, " V"]]:
    """The function from labels ``[m]`` to sums of squared scores, and log-probabilities.

    The sums are ``[m, parts]``, over the L leaves with the weights of each of ``rows``; of None,
    the one sum over all.
    """
    log_probs, norms = gradient_norms(lambda p: jax.nn.log_softmax(logits(p, context)), params)

    def squares(label: Int[Array, ""]) -> Float[Array, " parts"]:
        of_leaves = norms((jnp.arange(log_probs.size) == label).astype(log_probs.dtype))
        if rows is None:
            return of_leaves.sum()[None]
        return jnp.stack([(row * of_leaves).sum() for row in rows])

    return lambda labels: map_in_chunks(squares, labels, label_chunk), log_probs


def _fisher_of(
    squares_at: Callable[[Array], Array], log_probs: Float[Array, " V"]
) -> Float[Array, " parts"]:
    """Σ_y p_y ‖s_y‖² of one context."""
    return (jnp.exp(log_probs)[:, None] * squares_at(jnp.arange(log_probs.size))).sum(0)


def _check(params: Params, contexts: Any, weights: Array | None, label_chunk: int) -> int:
    check_params(params)
    check_count("label_chunk", label_chunk)
    return check_examples("contexts", contexts, weights)


def _finite_mean(
    values: Float[Array, "N m"],
    weights: Float[Array, " N"] | None,
    logits: Logits,
    params: Params,
    contexts: Any,
) -> SampledEstimate:
    estimate = mean_over_contexts(values, weights)
    check_finite(
        "trace",
        estimate.mean,
        "logits(params, context)",
        lambda: jax.lax.map(lambda context: logits(params, context), contexts),
    )
    return estimate
