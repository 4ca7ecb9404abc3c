"""Random probes, and the standard errors of their estimates.

Probe i of a key depends only on the key and i, not on the number of probes or the chunk size. Two
checkpoints measured with one key see the same probes, so the error of their difference is that of
the paired differences.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Shaped

from el_jax.curvature.arguments import check_count
from el_jax.process.errors import require
from el_jax.types import Estimate, Key, Params


class SampledEstimate(NamedTuple):
    """An estimate over sampled contexts, whose error has two sources.

    Attributes:
        mean: the estimate.
        sem: its standard error, ``sem² = context_sem² + probe_sem²`` up to sampling.
        context_sem: the part that only more contexts reduce.
        probe_sem: the part that more probes or labels per context also reduce.
        values: the value of each context and probe, ``[N, m]``; ``mean`` is their weighted mean.
        weights: weights of the contexts, ``[N]``; None for equal ones.
    """

    mean: Array
    sem: Array
    context_sem: Array
    probe_sem: Array
    values: Array
    weights: Array | None = None


def signs(key: Key, params: Params) -> Params:
    """Independent -1 and +1 (Rademacher), like ``params``."""
    return _draw(jax.random.rademacher, key, params)


def normals(key: Key, params: Params) -> Params:
    """Independent standard normal numbers, like ``params``."""
    return _draw(jax.random.normal, key, params)


def _draw(sampler: Callable[..., Array], key: Key, params: Params) -> Params:
    leaves, structure = jax.tree.flatten(params)
    kinds = [jax.typeof(leaf) for leaf in leaves]
    keys = numbered_keys(key, len(leaves))
    return jax.tree.unflatten(
        structure, [sampler(k, x.shape, x.dtype) for k, x in zip(keys, kinds, strict=True)]
    )


def numbered_keys(key: Key, num: int) -> Shaped[Array, " n"]:
    """Keys 0 to ``num - 1``; the first ones do not depend on ``num``."""
    return jax.vmap(lambda number: jax.random.fold_in(key, number))(jnp.arange(num))


def map_in_chunks(function: Callable[[Any], Any], inputs: Any, chunk: int) -> Any:
    """Apply the function to each entry along the first axis, ``chunk`` entries at once.

    Raises:
        ValueError: if ``chunk`` is below 1.
    """
    check_count("chunk", chunk)
    num = jax.tree.leaves(inputs)[0].shape[0]
    return jax.lax.map(function, inputs, batch_size=min(chunk, num))


def mean_and_sem(values: Float[Array, "n *shape"]) -> Estimate:
    """Mean of independent values along the first axis, n >= 2, and its standard error."""
    return Estimate(values.mean(0), values.std(0, ddof=1) / jnp.sqrt(values.shape[0] * 1.0))


def weighted_mean(
    values: Float[Array, " N"], weights: Float[Array, " N"] | None = None
) -> Float[Array, ""]:
    """The weighted mean of values; equal weights when None."""
    return values.mean() if weights is None else (weights * values).sum() / weights.sum()


def mean_over_contexts(
    values: Float[Array, "N m"], weights: Float[Array, " N"] | None = None
) -> SampledEstimate:
    """Mean over contexts of the means over their probes, and its two errors.

    The spread between context means contains both errors; the spread within contexts estimates the
    probe part, and the rest belongs to contexts (analysis of variance). With one value per context
    the values are taken as exact.

    Args:
        values: values of independent contexts, with independent probes for each.
        weights: weights of the contexts; equal when None. They are treated as fixed, not as
            sampled. If only one is positive, ``sem`` and ``context_sem`` are NaN.
    """
    contexts, probes = values.shape
    given = weights
    weights = jnp.ones(contexts, values.dtype) if given is None else given.astype(values.dtype)
    num = (weights > 0).sum().astype(values.dtype)  # padding has weight 0
    shares = weights / weights.sum()
    of_contexts = values.mean(1)
    mean = (shares * of_contexts).sum()
    total = num / (num - 1) * jnp.square(shares * (of_contexts - mean)).sum()
    within = values.var(1, ddof=1) / probes if probes > 1 else jnp.zeros_like(of_contexts)
    of_probes = (jnp.square(shares) * within).sum()
    # The difference of two estimates may fall below 0 if contexts hardly differ.
    of_sampling = jnp.maximum(total - of_probes, 0)
    sem, context_sem, probe_sem = map(jnp.sqrt, (total, of_sampling, of_probes))
    return SampledEstimate(mean, sem, context_sem, probe_sem, values, given)


def paired_difference(before: SampledEstimate, after: SampledEstimate) -> SampledEstimate:
    """``after - before``, for two estimates over the same contexts with the same weights.

    Contexts and probes of the same key shift both estimates alike, so the errors of the difference
    are usually far below those of the two.

    Args:
        before: estimate at one checkpoint.
        after: estimate at another, from the same contexts and the same key.

    Raises:
        ValueError: if the two differ in the number of contexts or probes.
    """
    shape, wanted = after.values.shape, before.values.shape
    require("contexts and probes", shape, shape == wanted, f"{wanted}, those of the other estimate")
    return mean_over_contexts(after.values - before.values, after.weights)
