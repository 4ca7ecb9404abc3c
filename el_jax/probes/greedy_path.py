"""The path that a model generates itself on a path-star graph, without teacher forcing."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Int

from el_jax.probes.over_runs import over_runs
from el_jax.process.compilation import Once
from el_jax.tasks import PathStar, Task
from el_jax.types import Batch, ModelFns, Params, Probe


def greedy_goal(task: Task, model: ModelFns, num: int = 256) -> Probe:
    """Probe whether greedy paths end at the goal, on ``num`` test graphs.

    The probe returns ``greedy_goal_accuracy``, the metric of Yang et al. 2025, Table 1. The goal is
    in the query, so a model may also name it at the end of a wrong arm; ``greedy_path_accuracy``
    requires every node to be correct. A path is decoded from its first token to its last; in
    parallel if there is no teacher; and by masked diffusion one token at a time, the one with the
    highest confidence, so it may begin at the goal.

    Raises:
        ValueError: the task is not the path-star task.
    """
    if not isinstance(task, PathStar):
        raise ValueError(f"needs the path_star task, not {type(task).__name__}")
    length, first, hidden = task.path_length, task.prefix_length, task.special_ids[-1]
    # under masked diffusion "hidden", the last token, is not a valid answer
    answers = hidden if task.teacher == "diffusion" else task.vocab_size
    goal = length - 1 if task.order == "forward" else 0

    def laws(params: Params, batch: Batch, tokens: Array) -> Array:
        logits = model.apply(params, batch._replace(tokens=tokens))
        return jax.nn.log_softmax(logits[..., :answers])

    def written(params: Params, batch: Batch) -> Int[Array, "S l"]:
        def write(place: Array, tokens: Array) -> Array:
            found = laws(params, batch, tokens)
            if task.teacher == "diffusion":
                is_left = tokens[:, first:] == hidden
                place = jnp.where(is_left, found.max(-1), -jnp.inf).argmax(1)
            rows = jnp.arange(len(tokens))
            node = found[rows, place].argmax(-1)
            return tokens.at[rows, first + place].set(node)

        if task.teacher == "none":
            return laws(params, batch, batch.tokens).argmax(-1)
        return jax.lax.fori_loop(0, length, write, batch.tokens)[:, first:]

    def probe(params: Params, batch: Batch) -> dict[str, Array]:
        is_right = written(params, batch) == batch.labels
        return {
            "greedy_goal_accuracy": is_right[:, goal].mean(),
            "greedy_path_accuracy": is_right.all(1).mean(),
        }

    batch = Once(lambda: task.pack(task.test_set(num)))()
    return over_runs(probe, batch)
