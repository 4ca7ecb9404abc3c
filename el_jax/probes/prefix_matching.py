"""Induction heads: attention from a token to the successor of its previous occurrence.

Olsson et al. 2022, "In-context learning and induction heads" (arXiv 2209.11895); Hernandez et al.
2022 (arXiv 2205.10487) report how much of it repeated training data take.
"""

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.probes.over_runs import over_runs
from el_jax.process.compilation import Once
from el_jax.tasks import CausalWords, Task
from el_jax.tasks.draws import draw_distinct
from el_jax.types import Batch, ModelFns, Params, Probe
from el_jax.worlds import PAD, Sentences


def prefix_matching(task: Task, model: ModelFns, num: int = 64) -> Probe:
    """Probe ``prefix_matching``, the attention that the best head pays to what followed last time.

    In ``num`` sentences half of the words are distinct and drawn at random, the other half are the
    same words again. The attention of each word of the second half to the successor of its first
    occurrence is averaged over words and sentences; ``prefix_matching`` is the largest mean of all
    heads and layers, ``prefix_matching_mean`` the mean over them. An ideal induction head has 1.

    Raises:
        ValueError: the task is not causal, the model has no attention, or the sentences are too
            long for distinct words or too short for two halves.
    """
    if not isinstance(task, CausalWords):
        raise ValueError(f"needs the task causal, not {type(task).__name__}")
    attention = model.attention
    if attention is None:
        raise ValueError("needs a model with attention")
    world = task.world.make()
    half = world.length // 2
    if not 2 <= half <= world.vocab_size:
        raise ValueError(
            f"needs sentences of 4 to {2 * world.vocab_size + 1} words (twice the vocabulary of "
            f"{world.vocab_size}), not {world.length}"
        )

    def draw() -> Batch:
        keys = jax.random.split(jax.random.key(task.data_seed), num)
        phrases = jax.vmap(lambda key: draw_distinct(key, half, world.vocab_size))(keys)
        twice = jnp.tile(phrases, (1, 2))
        rest = ((0, 0), (0, world.length - 2 * half))
        return task.pack(Sentences(jnp.pad(twice, rest, constant_values=PAD)))

    # word i is at place i + 1, after BEGIN; the last word of the second half has no successor
    queries = jnp.arange(half + 1, 2 * half)
    keys = queries - half + 1

    def of_run(params: Params, batch: Batch) -> dict[str, Array]:
        weights = attention(params, batch)  # [N, B, H, P, T]
        of_heads = weights[..., queries, keys].mean(axis=(1, 3))
        return {
            "prefix_matching": of_heads.max(),
            "prefix_matching_mean": of_heads.mean(),
        }

    return over_runs(of_run, Once(draw)())
