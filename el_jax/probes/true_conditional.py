"""The divergence of a masked language model from the truth, where the truth is known.

The loss of a model is the entropy of the masked word given the others, which no model changes, plus
this divergence. Both are means over whole conditional distributions and not over drawn words, so
that the divergence of a trained model is seen below the noise of its loss (Rao-Blackwell).
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.runtime.compilation import Once
from el_jax.tasks import MaskedWords, Task
from el_jax.types import Batch, ModelFns, Params, Probe

CHUNK = 256  # sentences at once


def true_conditional(task: Task, model: ModelFns, num: int = 2048) -> Probe:
    """Probe ``kl``, E KL(p(x_t | x_-t) || model), in nats a masked word, on ``num`` test sentences.

    One word of each sentence is masked, at a uniform place, whatever the task's own masking. Beside
    ``kl`` the probe returns ``kl_sem``, its standard error over sentences, and ``entropy``, that of
    the same words given the others: ``kl + entropy`` is the model's cross-entropy on them.

    Raises:
        ValueError: the task's words are not masked words of a world.
    """
    if not isinstance(task, MaskedWords):
        raise ValueError(f"needs the task masked, not {type(task).__name__}")
    chunks = -(-num // CHUNK)

    def draw() -> tuple[Batch, Float[Array, "chunks S V"]]:
        one = dataclasses.replace(task, masking="one")
        sentences = one.test_set(chunks * CHUNK)
        world, rows = one.world.make(), jnp.arange(CHUNK)

        def truth(part: Any) -> Array:
            conditionals = world.log_conditionals(part.tokens)
            return conditionals[rows, part.places[:, 0]]

        parts = _in_chunks(sentences, chunks)
        return _in_chunks(one.pack(sentences), chunks), jax.lax.map(truth, parts)

    batch, log_truth = Once(draw)()

    def of_chunk(params: Params, batch: Batch, log_truth: Array) -> tuple[Array, Array]:
        log_model = jax.nn.log_softmax(model.apply(params, batch)[:, 0])[:, : log_truth.shape[1]]
        truth = jnp.exp(log_truth)
        possible = truth > 0
        gap = jnp.where(possible, log_truth - log_model, 0)
        return (truth * gap).sum(1), jax.scipy.special.entr(truth).sum(1)

    @jax.jit
    def over_runs(params: Params, batch: Batch, log_truth: Array) -> dict[str, Array]:
        def of_run(params: Params) -> dict[str, Array]:
            kl, entropy = jax.lax.map(lambda part: of_chunk(params, *part), (batch, log_truth))
            sem = kl.std(ddof=1) / jnp.sqrt(kl.size)
            return {"kl": kl.mean(), "kl_sem": sem, "entropy": entropy.mean()}

        return jax.vmap(of_run)(params)

    return Probe(of_params=lambda params: over_runs(params, batch, log_truth))


def _in_chunks(tree: Any, chunks: int) -> Any:
    return jax.tree.map(lambda leaf: leaf.reshape(chunks, -1, *leaf.shape[1:]), tree)
