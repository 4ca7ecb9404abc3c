"""The trace of the Hessian and its diagonal, estimated from random probes.

``Tr H`` is the trace of the Hessian of the loss as given, with the labels of the data. The trace
of the Fisher matrix (``fisher.py``) is another quantity; the two meet where the model's
distribution is that of the data.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.curvature.arguments import (
    check_count,
    check_examples,
    check_finite,
    check_params,
    check_tangent,
)
from el_jax.curvature.products import Loss, hvp, quadratic_form
from el_jax.curvature.sampling import (
    SampledEstimate,
    map_in_chunks,
    mean_and_sem,
    mean_over_contexts,
    numbered_keys,
    signs,
)
from el_jax.types import Estimate, Key, Params


def hessian_trace(
    loss: Loss, params: Params, key: Key, num_probes: int, *, chunk: int = 1
) -> Estimate:
    """Tr H as the mean of vᵀ H v over random signs v (Hutchinson 1989).

    The variance of one probe is 2 (‖H‖_F² - Σ_i H_ii²), which is below that of normal probes.

    Args:
        loss: a twice differentiable function of the parameters.
        params: θ.
        key: of the probes; with the same key two checkpoints can be compared pair by pair.
        num_probes: how many, each one :func:`quadratic_form`.
        chunk: probes held at once, the factor by which memory grows.

    Returns:
        The estimate; its error is that of the probes only, since the loss is taken as it is.

    Raises:
        ValueError: if ``num_probes`` is below 2, ``chunk`` below 1, or loss or trace not finite.
    """
    return _mean_form(loss, params, signs, key, num_probes, chunk)


def scale_free_trace(
    loss: Loss, params: Params, key: Key, num_probes: int, *, chunk: int = 1
) -> Estimate:
    """Σ_l ‖W_l‖² Tr H_ll over the leaves W_l of the parameters, with H_ll their blocks of H.

    A layer before a normalisation computes the same function from c W as from W, with a trace
    that is c² times smaller; this sum does not change. Arguments and errors are those of
    :func:`hessian_trace`.
    """

    def draw(key: Key, params: Params) -> Params:
        return jax.tree.map(lambda v, w: v * jnp.linalg.norm(w.ravel()), signs(key, params), params)

    return _mean_form(loss, params, draw, key, num_probes, chunk)


def trace_difference(
    loss: Loss, before: Params, after: Params, key: Key, num_probes: int, *, chunk: int = 1
) -> Estimate:
    """Tr H(after) - Tr H(before), from the same probes at both checkpoints.

    Its error is that of paired differences, far below that of two estimates if the Hessians are
    alike. Arguments and errors are those of :func:`hessian_trace`, the cost twice its cost.
    """
    check_tangent(before, after, "after")

    def difference(step: Params) -> Array:
        moved_after, moved_before = (jax.tree.map(jnp.add, at, step) for at in (after, before))
        return loss(moved_after) - loss(moved_before)

    origin = jax.tree.map(jnp.zeros_like, before)
    return hessian_trace(difference, origin, key, num_probes, chunk=chunk)


def _mean_form(
    loss: Loss,
    params: Params,
    draw: Callable[[Key, Params], Params],
    key: Key,
    num_probes: int,
    chunk: int,
) -> Estimate:
    check_count("num_probes", num_probes, least=2)
    check_params(params)

    def one_probe(key: Key) -> Float[Array, ""]:
        return quadratic_form(loss, params, draw(key, params))

    estimate = mean_and_sem(map_in_chunks(one_probe, numbered_keys(key, num_probes), chunk))
    check_finite("trace", estimate.mean, "loss(params)", lambda: loss(params))
    return estimate


def example_hessian_trace(
    example_loss: Callable[[Params, Any], Array],
    params: Params,
    examples: Any,
    key: Key,
    num_probes: int = 2,
    *,
    weights: Float[Array, " N"] | None = None,
    chunk: int = 1,
) -> SampledEstimate:
    """Tr H of a mean over sampled examples, with the error of the sample beside that of the probes.

    Each example has probes of its own, so errors of probes average out over examples.

    Args:
        example_loss: the loss of one example, ``example_loss(params, example)``.
        params: θ.
        examples: a pytree whose leaves have one entry for each example, ``[N, ...]``.
        key: of the probes.
        num_probes: for each example.
        weights: of the examples, such as numbers of masked tokens; equal when None.
        chunk: examples held at once.

    Raises:
        ValueError: if there are fewer than two examples or probes, or the result is not finite.
    """
    check_count("num_probes", num_probes, least=2)
    num = check_examples("examples", examples, weights)

    def of_example(numbered: tuple[Any, Key]) -> Float[Array, " m"]:
        example, key = numbered

        def one_probe(key: Key) -> Float[Array, ""]:
            return quadratic_form(lambda p: example_loss(p, example), params, signs(key, params))

        return jax.vmap(one_probe)(numbered_keys(key, num_probes))

    values = map_in_chunks(of_example, (examples, numbered_keys(key, num)), chunk)
    estimate = mean_over_contexts(values, weights)
    check_finite(
        "trace",
        estimate.mean,
        "example_loss(params, example)",
        lambda: map_in_chunks(lambda example: example_loss(params, example), examples, chunk),
    )
    return estimate


def hessian_diagonal(loss: Loss, params: Params, key: Key, num_probes: int) -> Estimate:
    """The diagonal of H as the mean of v ⊙ H v over random signs (Bekas, Kokiopoulou, Saad 2007).

    Memory beside one product is two trees like ``params``, however many probes there are.

    Args:
        loss: a twice differentiable function of the parameters.
        params: θ.
        key: of the probes.
        num_probes: how many, each one :func:`hvp`.

    Returns:
        An estimate whose mean and sem are trees like ``params``. Errors of entries are correlated:
        the error of their sum is that of :func:`hessian_trace`.

    Raises:
        ValueError: if ``num_probes`` is below 2, or the result is not finite.
    """
    check_count("num_probes", num_probes, least=2)
    check_params(params)

    def add(moments: tuple[Params, Params], numbered: tuple[Array, Array]) -> tuple:
        """Welford's update of the mean and of the summed squared deviations from it."""
        (mean, squares), (number, key) = moments, numbered
        v = signs(key, params)
        value = jax.tree.map(jnp.multiply, v, hvp(loss, params, v))
        after = jax.tree.map(lambda m, x: m + (x - m) / (number + 1).astype(m.dtype), mean, value)
        squares = jax.tree.map(
            lambda s, x, m, a: s + (x - m) * (x - a), squares, value, mean, after
        )
        return (after, squares), None

    nothing = jax.tree.map(jnp.zeros_like, params)
    numbers, keys = jnp.arange(num_probes), numbered_keys(key, num_probes)
    (mean, squares), _ = jax.lax.scan(add, (nothing, nothing), (numbers, keys))
    pairs = num_probes * (num_probes - 1)
    total = sum(leaf.sum() for leaf in jax.tree.leaves(mean))
    check_finite("sum of the diagonal", total, "loss(params)", lambda: loss(params))
    return Estimate(mean, jax.tree.map(lambda s: jnp.sqrt(s / pairs), squares))
