"""The contexts of a task one by one, for the curvature of single examples.

windows, labels = contexts_of(batch)
Fisher(context_logits(model), params, windows).sampled_trace(key)
"""

from collections.abc import Callable

import jax
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from el_jax.process.errors import require
from el_jax.types import Batch, ModelFns, Params

Logits = Callable[[Params, Batch], Float[Array, " V"]]


def contexts_of(batch: Batch, most: int | None = None) -> tuple[Batch, Int[Array, " N"]]:
    """Make each supervised position its own context, in order.

    Args:
        batch: windows of a task; its mask must not be traced.
        most: the largest number of contexts; None for all. They are evenly spaced over windows of
            one position, and otherwise drawn from all positions, the same ones in every call.

    Returns:
        The windows, each with one supervised position (leaves ``[N, T]`` and ``[N, 1]``), and the
        label of each context.

    Raises:
        ValueError: if the batch supervises no position.
    """
    window, slot = np.nonzero(np.asarray(batch.mask))
    found = len(window)
    num = found if most is None else min(most, found)
    require("tokens asked for", num, num >= 1, "at least 1")
    kept = np.arange(num) * found // num
    if num < found and batch.mask.shape[1] > 1:  # equal steps may meet one slot of every window
        kept = np.sort(np.random.default_rng(0).choice(found, num, replace=False))
    window, slot = window[kept], slot[kept]

    def of_slots(leaf: Array) -> Array:
        return leaf[window, slot][:, None]

    def of_windows(leaf: Array | None) -> Array | None:
        return None if leaf is None else leaf[window]

    windows = Batch(
        tokens=batch.tokens[window],
        supervised=of_slots(batch.supervised),
        labels=of_slots(batch.labels),
        mask=of_slots(batch.mask),
        groups=of_slots(batch.groups),
        positions=of_windows(batch.positions),
        documents=of_windows(batch.documents),
    )
    return windows, windows.labels[:, 0]


def context_logits(model: ModelFns) -> Logits:
    """The logits of one context of :func:`contexts_of`; dropout is off."""

    def logits(params: Params, window: Batch) -> Array:
        return model.apply(params, jax.tree.map(lambda leaf: leaf[None], window))[0, 0]

    return logits


def context_cross_entropy(logits: Logits) -> Callable[[Params, Batch], Float[Array, ""]]:
    """The cross-entropy of one context, in nats, from its logits.

    ``Hessian(context_cross_entropy(logits), params).over(windows)`` is the Hessian of the mean.
    """

    def cross_entropy(params: Params, window: Batch) -> Array:
        return -jax.nn.log_softmax(logits(params, window))[window.labels[0]]

    return cross_entropy
