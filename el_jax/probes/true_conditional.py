"""The divergence of a language model from a known true distribution.

The loss of a model is the entropy of the supervised words given its input, which no model changes,
plus this divergence. For masked words both are means over whole conditional distributions, not over
drawn words, so the divergence of a trained model is visible below the noise of its loss
(Rao-Blackwell). For next words they are differences of log-probabilities of drawn sentences, which
need no conditionals; near the truth their noise scales with the root of the divergence.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.probes.over_runs import over_runs
from el_jax.process.compilation import Once
from el_jax.tasks import CausalWords, MaskedWords, Task
from el_jax.types import Batch, ModelFns, Params, Probe
from el_jax.worlds import conditionals_at

CHUNK = 256  # sentences at once


class _Sums(NamedTuple):
    """Sums over the supervised words of each sentence, ``[S]``."""

    divergence: Array
    entropy: Array
    words: Array


def true_conditional(task: Task, model: ModelFns, num: int = 2048) -> Probe:
    """Probe ``kl``, the divergence from the truth in nats per supervised word, on test sentences.

    For a masked task it is E KL(p(x_t | x_-t) || model), with one word of each sentence masked at a
    uniform position whatever the task's own masking. For a causal task it is E [log p(x) - log
    model(x)] over the expected number of supervised words, the mean of KL(p(x_t | x_<t) || model)
    over words. Besides ``kl`` the probe returns ``kl_sem``, its standard error over sentences, and
    ``entropy``, that of the same words given the model's input: ``kl + entropy`` is the model's
    cross-entropy on them.

    Args:
        task: masked or causal.
        model: any model for the task.
        num: sentences, rounded up to a multiple of 256.

    Raises:
        ValueError: the task's words do not come from a world.
    """
    chunks = -(-num // CHUNK)
    sums: Callable[[Array, Batch, Array], _Sums]
    if isinstance(task, MaskedWords):
        one = dataclasses.replace(task, masking="one")
        batch, truth = Once(lambda: _masked_truth(one, chunks))()
        sums = _masked_sums
    elif isinstance(task, CausalWords):
        batch, truth = Once(lambda: _causal_truth(task, chunks))()
        sums = _causal_sums
    else:
        raise ValueError(f"needs the task masked or causal, not {type(task).__name__}")

    def of_run(params: Params, batch: Batch, truth: Array) -> dict[str, Array]:
        def of_chunk(part: tuple[Batch, Array]) -> _Sums:
            return sums(jax.nn.log_softmax(model.apply(params, part[0])), *part)

        return _rates(jax.lax.map(of_chunk, (batch, truth)))

    return over_runs(of_run, batch, truth)


def _masked_truth(task: MaskedWords, chunks: int) -> tuple[Batch, Float[Array, "chunks S V"]]:
    """Sentences with one masked word each, and the distribution of that word given the others."""
    sentences = task.test_set(chunks * CHUNK)
    world = task.world.make()

    def truth(part: Any) -> Array:
        return conditionals_at(world, part.tokens, part.places[:, 0])

    log_truth = jax.lax.map(truth, _in_chunks(sentences, chunks))
    return _in_chunks(task.pack(sentences), chunks), log_truth


def _masked_sums(
    log_model: Float[Array, "S 1 W"], _: Batch, log_truth: Float[Array, "S V"]
) -> _Sums:
    truth = jnp.exp(log_truth)
    gap = jnp.where(truth > 0, log_truth - log_model[:, 0, : truth.shape[1]], 0)
    entropy = jax.scipy.special.entr(truth).sum(axis=1)
    return _Sums((truth * gap).sum(axis=1), entropy, jnp.ones_like(entropy))


def _causal_truth(task: CausalWords, chunks: int) -> tuple[Batch, Float[Array, "chunks S"]]:
    """Sentences, and the log-probability of each."""
    sentences = task.test_set(chunks * CHUNK)
    log_truth = jax.lax.map(
        lambda part: task.world.make().log_probability(part.tokens), _in_chunks(sentences, chunks)
    )
    return _in_chunks(task.pack(sentences), chunks), log_truth


def _causal_sums(
    log_model: Float[Array, "S P W"], batch: Batch, log_truth: Float[Array, "S"]
) -> _Sums:
    of_words = jnp.take_along_axis(log_model, batch.labels[..., None], axis=2)[..., 0]
    of_sentence = jnp.where(batch.mask, of_words, 0).sum(axis=1)
    words = batch.mask.sum(axis=1).astype(log_truth.dtype)
    return _Sums(log_truth - of_sentence, -log_truth, words)


def _rates(sums: _Sums) -> dict[str, Array]:
    """Means per word over all sentences, with the delta method's standard error of a ratio."""
    divergence, entropy, words = sums
    kl = divergence.mean() / words.mean()
    sem = (divergence - kl * words).std(ddof=1) / jnp.sqrt(words.size) / words.mean()
    return {"kl": kl, "kl_sem": sem, "entropy": entropy.mean() / words.mean()}


def _in_chunks(tree: Any, chunks: int) -> Any:
    return jax.tree.map(lambda leaf: leaf.reshape(chunks, -1, *leaf.shape[1:]), tree)
