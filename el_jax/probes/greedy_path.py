"""The path that a model writes itself on a path-star graph, against the one it is given."""

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.process.compilation import Once
from el_jax.tasks import PathStar, Task
from el_jax.types import Batch, ModelFns, Params, Probe


def greedy_goal(task: Task, model: ModelFns, num: int = 256) -> Probe:
    """Probe whether greedy paths end at the goal, on ``num`` test graphs.

    The probe returns ``greedy_goal_accuracy``, the metric of Yang et al. 2025, Table 1. The goal
    stands in the query, so that a model may also name it at the end of a wrong arm.

    Raises:
        ValueError: the task is not the path-star task.
    """
    if not isinstance(task, PathStar):
        raise ValueError(f"needs the path_star task, not {type(task).__name__}")
    length, first = task.path_length, task.prefix_length
    reads_own = task.teacher in ("forced", "masked")  # otherwise every token of the path is hidden
    goal = length - 1 if task.order == "forward" else 0

    def answers(params: Params, batch: Batch) -> Array:
        return jnp.argmax(model.apply(params, batch), axis=-1)

    def probe(params: Params, batch: Batch) -> dict[str, Array]:
        def write(place: Array, tokens: Array) -> Array:
            node = answers(params, batch._replace(tokens=tokens))[:, place]
            return tokens.at[:, first + place].set(node)

        tokens = jax.lax.fori_loop(0, length * reads_own, write, batch.tokens)
        last = answers(params, batch._replace(tokens=tokens))[:, goal]
        return {"greedy_goal_accuracy": (last == batch.labels[:, goal]).mean()}

    batch = Once(lambda: task.pack(task.test_set(num)))()
    compiled = jax.jit(jax.vmap(probe, in_axes=(0, None)))
    return Probe(of_params=lambda params: compiled(params, batch))
