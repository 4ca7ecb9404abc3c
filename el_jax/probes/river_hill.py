"""The divergence of a language model from the truth, split by certain and uncertain next words.

In the picture of Wen et al. 2024 (arXiv 2410.05192) the first measures progress along a river with
a nearly flat bed, the second the height on its steep banks.
"""

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.probes.over_runs import over_runs
from el_jax.process.compilation import Once
from el_jax.tasks import CausalWords, Task
from el_jax.types import Batch, ModelFns, Params, Probe


def river_hill(task: Task, model: ModelFns, num: int = 256) -> Probe:
    """Probe ``kl_river``, ``kl_hill``: mean KL(p(x_t | x_<t) || model) in nats, by its entropy.

    River words are those in ``num`` test sentences whose true distribution has less than half of
    the mean entropy over all words; all others are hill words. ``river_accuracy`` is the share of
    river words to which the model gives the highest probability, as the truth does.

    Raises:
        ValueError: the task is not causal on sentences of one length, or all its words have about
            the same entropy.
    """
    if not isinstance(task, CausalWords):
        raise ValueError(f"needs the task causal, not {type(task).__name__}")
    world = task.world.make()
    if len(world.lengths) > 1:
        raise ValueError(f"needs sentences of one length, not of {len(world.lengths)}")

    def draw() -> tuple[Batch, Array]:
        sentences = task.test_set(num)
        return task.pack(sentences), world.log_next(sentences.tokens)

    batch, log_truth = Once(draw)()
    entropy = jax.scipy.special.entr(jnp.exp(log_truth)).sum(-1)
    river = entropy < entropy.mean() / 2
    if not river.any():
        raise ValueError("needs a world with words nearly certain, and others that are not")

    def of_run(params: Params, batch: Batch, log_truth: Array, river: Array) -> dict[str, Array]:
        log_model = jax.nn.log_softmax(model.apply(params, batch))[..., : log_truth.shape[-1]]
        truth = jnp.exp(log_truth)
        kl = jnp.where(truth > 0, truth * (log_truth - log_model), 0.0).sum(-1)
        right = jnp.argmax(log_model, axis=-1) == jnp.argmax(truth, axis=-1)
        return {
            "kl_river": kl.mean(where=river),
            "kl_hill": kl.mean(where=~river),
            "river_accuracy": right.mean(where=river),
        }

    return over_runs(of_run, batch, log_truth, river)
