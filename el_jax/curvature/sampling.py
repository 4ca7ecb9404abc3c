"""Random probes, and the standard errors of what they estimate.

Probe i of a key depends on the key and i alone: not on how many probes there are or how many are
held at once. Two checkpoints measured with one key see the same probes, so the error of their
difference is that of the paired differences.
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
    """An estimate over sampled contexts, the error of which has two sources.

    Attributes:
        mean: the estimate.
        sem: its standard error, ``sem² = context_sem² + probe_sem²`` up to sampling.
        context_sem: the part that only more contexts lower.
        probe_sem: the part that more probes or labels for each context lower, too.
        values: of each context and probe, whose mean it is, ``[N, m]``.
    """

    mean: Array
    sem: Array
    context_sem: Array
    probe_sem: Array
    values: Array


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
    """The function of each entry along the first axis, ``chunk`` of them at once.

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
    """The mean of values, equal weights when None."""
    return values.mean() if weights is None else (weights * values).sum() / weights.sum()


def mean_over_contexts(
    values: Float[Array, "N m"], weights: Float[Array, " N"] | None = None
) -> SampledEstimate:
    """Mean over contexts of the means over their probes, and its two errors.

    The spread between the means of contexts holds both errors; the spread within contexts shows
    the part of the probes, and what is left belongs to contexts (analysis of variance). With one
    value for each context the values are taken as exact.

    Args:
        values: of independent contexts, and of independent probes for each of them.
        weights: of the contexts; equal when None. They count as given, not as sampled.
    """
    num, probes = values.shape
    weights = jnp.ones(num, values.dtype) if weights is None else weights.astype(values.dtype)
    shares = weights / weights.sum()
    of_contexts = values.mean(1)
    mean = (shares * of_contexts).sum()
    total = num / (num - 1) * jnp.square(shares * (of_contexts - mean)).sum()
    within = values.var(1, ddof=1) / probes if probes > 1 else jnp.zeros_like(of_contexts)
    of_probes = (jnp.square(shares) * within).sum()
    # The difference of two estimates may fall below 0 where contexts hardly differ.
    of_sampling = jnp.maximum(total - of_probes, 0)
    sem, context_sem, probe_sem = map(jnp.sqrt, (total, of_sampling, of_probes))
    return SampledEstimate(mean, sem, context_sem, probe_sem, values)


def paired_difference(
    before: SampledEstimate, after: SampledEstimate, weights: Float[Array, " N"] | None = None
) -> SampledEstimate:
    """``after - before``, of two estimates over the same contexts.

    Contexts, and probes of the same key, move both estimates alike, so the errors of the difference
    are mostly far below those of the two.

    Args:
        before: of one checkpoint.
        after: of another, from the same contexts, with the same key.
        weights: of the contexts, those that both were made with.

    Raises:
        ValueError: if the two have not as many contexts and probes.
    """
    shape, wanted = after.values.shape, before.values.shape
    require("contexts and probes", shape, shape == wanted, f"{wanted}, those of the other estimate")
    return mean_over_contexts(after.values - before.values, weights)
