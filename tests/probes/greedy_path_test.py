"""The end of a path that a network writes itself, on networks made by hand."""

import jax
import jax.numpy as jnp
import pytest

from el_jax.probes import greedy_goal
from el_jax.process.compilation import Once
from el_jax.tasks import PaddedCopy, PathStar
from el_jax.types import ModelFns

TASK = PathStar(degree=2, path_length=3, num_nodes=12, graphs_per_update=8)


def batch_of(task, num):
    return Once(lambda: task.pack(task.test_set(num)))()


def follow(params, batch, key=None):
    """Logits of a network that writes the start, one of its neighbours, and the node after that.

    If ``params`` is 1 the neighbour is the right one, otherwise the one on the first edge.
    """
    edges = jnp.stack([batch.tokens[:, 3 * e : 3 * e + 2] for e in range(TASK.num_edges)], axis=1)
    query = batch.tokens[:, 3 * TASK.num_edges : 3 * TASK.num_edges + 2]
    start, goal = query.T
    first = edges[:, :, 0] == start[:, None]
    before_goal = edges[jnp.arange(len(edges)), jnp.argmax(edges[:, :, 1] == goal[:, None], 1), 0]
    guess = edges[jnp.arange(len(edges)), jnp.argmax(first, 1), 1]
    branch = jnp.where(params == 1, before_goal, guess)
    written = batch.tokens[:, TASK.prefix_length + 1]
    leads = edges[jnp.arange(len(edges)), jnp.argmax(edges[:, :, 0] == written[:, None], 1), 1]
    return jax.nn.one_hot(jnp.stack([start, branch, leads], axis=1), TASK.vocab_size)


def test_a_guesser_ends_at_the_goal_of_one_graph_in_d_though_its_last_node_is_always_right():
    model = ModelFns(dict, follow)
    found = greedy_goal(TASK, model, num=512).of_params(jnp.array([0, 1]))
    guesser, knower = found["greedy_goal_accuracy"].tolist()
    assert knower == 1
    assert guesser == pytest.approx(TASK.chance, abs=0.07)  # 3 standard errors
    assert found["greedy_path_accuracy"].tolist() == [guesser, knower]
    batch = batch_of(TASK, 512)
    assert (jnp.argmax(follow(0, batch), -1) == batch.labels)[:, -1].all()  # when given the path


@pytest.mark.parametrize("changes", [{"order": "reversed"}, {"teacher": "none"}])
def test_the_goal_is_found_where_it_stands(changes):
    task = PathStar(degree=2, path_length=3, num_nodes=12, **changes)

    def apply(params, batch, key=None):
        at = -1 if task.order == "forward" else 0
        goal = batch.tokens[:, 3 * task.num_edges + 1]
        return jax.nn.one_hot(jnp.zeros_like(batch.labels).at[:, at].set(goal), task.vocab_size)

    found = greedy_goal(task, ModelFns(dict, apply), num=64).of_params(jnp.zeros(1))
    assert found["greedy_goal_accuracy"].tolist() == [1]


def test_masked_diffusion_writes_first_what_it_is_surest_of():
    """A network that knows the goal and the predecessor of a node it sees must write backwards."""
    task = PathStar(degree=3, path_length=4, num_nodes=12, teacher="diffusion")
    num_edges = task.num_edges

    def backwards(params, batch, key=None):
        edges = batch.tokens[:, : 3 * num_edges].reshape(-1, num_edges, 3)
        path = batch.tokens[:, task.prefix_length :]
        is_next = edges[:, None, :, 1] == path[:, 1:, None]  # [S, l - 1, E]
        before = jnp.take_along_axis(edges[:, :, 0], is_next.argmax(-1), axis=1)
        known = jax.nn.one_hot(before, task.vocab_size) * is_next.any(-1, keepdims=True)
        goal = batch.tokens[:, 3 * num_edges + 1]
        goals = jax.nn.one_hot(goal, task.vocab_size)[:, None]
        return params * jnp.concatenate([known, goals], axis=1)

    found = greedy_goal(task, ModelFns(dict, backwards), num=64).of_params(jnp.array([9.0, -9.0]))
    assert found["greedy_path_accuracy"].tolist() == [1, 0]
    batch = batch_of(task, 64)
    at_once = jnp.argmax(Once(backwards)(9.0, batch), -1) == batch.labels
    assert not at_once[:, :-1].all(0).any()  # all at once, no other place is always right


def test_other_tasks_are_refused():
    with pytest.raises(ValueError, match="needs the path_star task, not PaddedCopy"):
        greedy_goal(PaddedCopy(), ModelFns(dict, follow))
