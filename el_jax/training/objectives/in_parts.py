"""An objective over a few windows at a time, so that activations fit into a CPU's caches."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.training.moments import pool_tree
from el_jax.training.objectives.heads import Numbers
from el_jax.training.objectives.objective import Metrics, Wrapper
from el_jax.types import Batch, Key, Params

# Time in parts over time at once, on one core with 1 MiB of L2 and 32 MiB of L3 cache: .95 for 4
# layers of width 128 and 12 windows of 64 tokens, .89 with 256; .80 for 2 of width 64, 24 windows
# of 128.
CACHED = 10e6  # bytes of a part's activations
# Each part reads all parameters and adds to their gradient: below this ratio parts do not pay.
ACTIVATIONS_PER_PARAMETER = 4


def num_parts(params: Params, batch: Batch) -> int:
    """Number of parts to divide a batch's windows into for the least expected time on a CPU.

    The estimate counts the inputs and outputs of each matrix at each token, in float32; softmax
    weights come on top.

    Args:
        params: parameters of one run; shapes are enough.
        batch: the batch; shapes are enough.
    """
    matrices = [leaf.shape for leaf in jax.tree.leaves(params) if len(leaf.shape) > 1]
    entries = sum(shape[0] + shape[-1] for shape in matrices)
    size = sum(leaf.size for leaf in jax.tree.leaves(params))
    windows, length = batch.tokens.shape
    activations = 4 * windows * length * entries
    most = activations / (4 * size * ACTIVATIONS_PER_PARAMETER)
    divisors = [n for n in range(1, windows + 1) if windows % n == 0 and n <= max(most, 1)]
    enough = [n for n in divisors if activations <= n * CACHED]
    return min(enough, default=max(divisors))


class InParts(Wrapper):
    """The mean loss of a batch as a mean over parts of its windows, one after the other.

    The gradient of a part is computed with its loss, so that only its activations are in memory.
    Such a loss has no forward-mode derivative. Where one part is best, this is the base.
    """

    def loss(
        self, params: Params, batch: Batch, memory: Any, numbers: Numbers, key: Key | None
    ) -> tuple[Array, tuple[Metrics, Any]]:
        """See ``Objective``."""
        num = num_parts(params, batch)
        if num == 1:
            return self.base.loss(params, batch, memory, numbers, key)
        parts = jax.tree.map(lambda leaf: leaf.reshape(num, -1, *leaf.shape[1:]), batch)
        loss, metrics = self._over_parts(params, parts, numbers, key)
        return loss, (metrics, memory)

    def _over_parts(
        self, params: Params, parts: Batch, numbers: Numbers, key: Key | None
    ) -> tuple[Array, Metrics]:
        def of_part(params: Params, part: Any, rest: Any) -> tuple[Array, Metrics]:
            (windows, share, number), (numbers, key) = part, rest
            own = None if key is None else jax.random.fold_in(key, number)  # own dropout mask
            mean, (metrics, _) = self.base.loss(params, windows, (), numbers, own)
            return share * mean, metrics

        def with_gradient(params: Params, parts: Any, rest: Any) -> tuple[Any, Params]:
            def add(total: Any, part: Any) -> tuple[Any, Metrics]:
                (loss, metrics), grads = jax.value_and_grad(of_part, has_aux=True)(
                    params, part, rest
                )
                return jax.tree.map(jnp.add, total, (loss, grads)), metrics

            nothing = jnp.float32(0), jax.tree.map(jnp.zeros_like, params)
            (loss, grads), metrics = jax.lax.scan(add, nothing, parts)
            return (loss, pool_tree(metrics)), grads

        # Otherwise the derivative of the loop would keep the activations of all parts.
        whole = jax.custom_vjp(lambda *args: with_gradient(*args)[0])
        whole.defvjp(
            with_gradient,
            lambda grads, slope: (jax.tree.map(lambda grad: slope[0] * grad, grads), None, None),
        )
        counts = parts.mask.sum((1, 2), dtype=jnp.float32)
        shares = counts / jnp.maximum(counts.sum(), 1.0)
        return whole(params, (parts, shares, jnp.arange(len(counts))), (numbers, key))
