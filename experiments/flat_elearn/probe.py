"""Curvature of cross-entropy at the training strings, before and after matching the loss.

A loss that bounds margins bounds logits, and smaller logits alone change the curvature of
cross-entropy. So each network is also measured with its logits multiplied by the factor at which
its training cross-entropy is ``MATCHED_CE``: equal pre-training loss, as in the comparisons of Liu,
Xie, Li, Ma 2023.

The experiment's runs import this module; their config names it.
"""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from el_jax.curvature import Fisher, Hessian
from el_jax.probes import PROBES, context_logits, contexts_of
from el_jax.probes.contexts import Logits
from el_jax.probes.over_runs import over_runs
from el_jax.process.compilation import Once
from el_jax.tasks import Task
from el_jax.types import Batch, ModelFns, Params, Probe

MATCHED_CE = 0.05  # nats per training token, to which logits are scaled for the comparison
FISHER, SCALE_FREE, TOP = "log_fisher_trace", "log_scale_free_trace", "log_top_eigenvalue"
MEASURES = (FISHER, SCALE_FREE, TOP)  # natural logarithms, so that differences are of factors
MATCHED = "matched_"  # begins the name of a measure at equal training cross-entropy
NUM_LABELS, CHUNK = 4, 8
LANCZOS_STEPS = 20  # products with the Hessian
SCALES = jnp.geomspace(1e-2, 1e3, 1_000)  # logit scales among which the match is sought
_SEED = 0


def cross_entropy(logits: Float[Array, "N V"], labels: Int[Array, " N"]) -> Float[Array, ""]:
    """Mean over contexts, in nats."""
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


def matching_scale(
    logits: Float[Array, "N V"], labels: Int[Array, " N"], nats: float
) -> Float[Array, ""]:
    """The least logit factor at which cross-entropy is ``nats``; NaN if there is none."""

    def at(log_scale: Array) -> Array:
        return cross_entropy(jnp.exp(log_scale) * logits, labels)

    # cross-entropy is convex in the scale: it falls from log V, and rises if a label is missed
    grid = jnp.log(SCALES)
    reached = jax.lax.map(at, grid) <= nats
    first = jnp.argmax(reached)

    def halved(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        far = at(middle) > nats
        return jnp.where(far, middle, low), jnp.where(far, high, middle)

    start = grid[jnp.maximum(first - 1, 0)], grid[first]
    _, found = jax.lax.fori_loop(0, 20, halved, start)
    return jnp.where(reached.any() & (first > 0), jnp.exp(found), jnp.nan)


def matched_curvature(task: Task, model: ModelFns, num: int = 512) -> Probe:
    """Probe the logarithms of ``MEASURES`` at training tokens, unscaled and matched.

    Also ``logit_scale``, the factor of the logits, and ``training_ce`` of the measured tokens, in
    nats. Traces are over ``num`` contexts, the eigenvalue over a quarter of them.
    """
    batch = Once(lambda: task.pack(task.train_set()))()
    contexts = {most: contexts_of(batch, most)[0] for most in (num, max(num // 4, 1))}
    logits = context_logits(model)

    def of_run(params: Params, windows: Batch, few: Batch) -> dict[str, Array]:
        def measures(scale: Array) -> dict[str, Array]:
            def scaled(params: Params, window: Batch) -> Array:
                return scale * logits(params, window)

            found = {**_traces(scaled, params, windows), TOP: _largest(scaled, params, few)}
            return {name: jnp.log(value) for name, value in found.items()}

        z = jax.lax.map(lambda window: logits(params, window), windows, batch_size=CHUNK)
        labels = windows.labels[:, 0]
        scale = matching_scale(z, labels, MATCHED_CE)
        after = measures(jnp.where(jnp.isnan(scale), 1.0, scale))
        return {
            "logit_scale": scale,
            "training_ce": cross_entropy(z, labels),
            **measures(jnp.ones(())),
            **{MATCHED + name: jnp.where(jnp.isnan(scale), scale, v) for name, v in after.items()},
        }

    return over_runs(of_run, *contexts.values(), one_by_one=True)


def _traces(logits: Logits, params: Params, windows: Batch) -> dict[str, Array]:
    parts = {
        FISHER: jax.tree.map(lambda _: 1.0, params),
        SCALE_FREE: jax.tree.map(lambda leaf: jnp.square(leaf).sum(), params),
    }
    fisher = Fisher(logits, params, windows, chunk=CHUNK)
    found = fisher.sampled_traces(parts, jax.random.key(_SEED), NUM_LABELS)
    return {name: estimate.mean for name, estimate in found.items()}


def _largest(logits: Logits, params: Params, windows: Batch) -> Array:
    """The largest eigenvalue of the Hessian of cross-entropy."""

    def loss(params: Params) -> Array:
        z = jax.vmap(logits, (None, 0))(params, windows)
        return cross_entropy(z, windows.labels[:, 0])

    key = jax.random.key(_SEED)
    return Hessian(loss, params).eigenvalues(key, 1, num_steps=LANCZOS_STEPS).values[0]


PROBES["matched_curvature"] = matched_curvature
