"""Recall and geometry compared with stars written by hand, and the frozen table."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from el_jax.tasks import StarInWeights
from el_jax.training.optimizers.adamw import adamw
from el_jax.types import ModelFns
from experiments.el_star_in_weights import claims, frozen, probe

TASK = StarInWeights(degree=3, path_length=4)


def lookup(task, table, follow):
    """A model that reads the next token off a matrix, and has a token table besides."""

    def init(_):
        return {"tok_emb": table, "next": follow}

    def apply(params, batch, key=None):
        del key
        return params["next"][jnp.take_along_axis(batch.tokens, batch.supervised, axis=1)]

    del task
    return ModelFns(init, apply)


def measured(task, table, follow):
    model = lookup(task, table, follow)
    params = jax.tree.map(lambda leaf: leaf[None], model.init(None))
    found = probe.star_geometry(task, model).of_params(params)
    return {name: float(value[0]) for name, value in found.items()}


def noise(task, *shape):
    return jax.random.normal(jax.random.key(0), (task.vocab_size, *shape))


def test_a_table_of_arms_is_a_map_and_one_of_depths_is_none():
    arms = np.asarray(TASK.arms())
    by_arm, by_depth = np.zeros((2, TASK.vocab_size, 3))
    for arm, nodes in enumerate(arms[:, 1:]):
        by_arm[nodes, arm] = np.sin(np.pi / 7 * np.arange(1, 4))  # the arm's own eigenvector
        by_depth[nodes, range(3)] = 1.0
    by_arm[:, :] -= by_arm.mean(1, keepdims=True)  # without what all arms share
    follow = noise(TASK, TASK.vocab_size)
    a_map = measured(TASK, jnp.asarray(by_arm), follow)
    assert a_map[claims.SPECTRAL] == pytest.approx(1.0, abs=1e-5)
    assert a_map["same_arm_cosine"] == pytest.approx(1.0 + 1 / 2, abs=1e-5)  # -1/2 between arms
    depths = measured(TASK, jnp.asarray(by_depth), follow)
    assert depths[claims.SPECTRAL] == pytest.approx(0.0, abs=1e-5)
    assert depths["same_arm_cosine"] < 0


def test_eigenvectors_tell_arms_apart_at_one_eigenvalue():
    arms = np.asarray(TASK.arms())
    vectors = probe.slowest_eigenvectors(arms)
    assert vectors.shape == (TASK.num_nodes, 2)
    np.testing.assert_allclose(vectors[arms[0, 0]], 0.0, atol=1e-12)
    steps = [(a, b) for arm in arms.tolist() for a, b in itertools.pairwise(arm)]
    slopes = [sum((v[a] - v[b]) ** 2 for a, b in steps) for v in vectors.T]
    least = 2 - 2 * np.cos(np.pi / 7)  # for a chain of 3 nodes with one end held at 0
    np.testing.assert_allclose(slopes, least, rtol=1e-9)


def test_rows_at_random_have_the_share_of_chance():
    task = StarInWeights(degree=8, path_length=4)
    keys = jax.random.split(jax.random.key(1), 200)
    tables = jax.vmap(lambda key: jax.random.normal(key, (task.vocab_size, 5)))(keys)
    model = lookup(task, tables[0], noise(task, task.vocab_size))
    params = {"tok_emb": tables, "next": jnp.stack([noise(task, task.vocab_size)] * 200)}
    shares = np.asarray(probe.star_geometry(task, model).of_params(params)[claims.SPECTRAL])
    expected = 7 / 24
    assert abs(shares.mean() - expected) < 4 * shares.std() / np.sqrt(200)
    assert claims.spectral_chance(claims.TINY) == 3 / 16


@pytest.mark.parametrize("directions", ["both", "away"])
def test_recall_is_the_share_of_edges_among_the_largest_logits(directions):
    task = StarInWeights(degree=3, path_length=4, directions=directions)
    edges = np.asarray(task.taught_edges())
    follow = np.zeros((task.vocab_size, task.vocab_size))
    follow[tuple(edges.T)] = 1.0
    follow[:, task.num_nodes :] = 9.0  # not nodes
    table = noise(task, 4)
    assert measured(task, table, jnp.asarray(follow))[claims.RECALLED] == 1.0
    about, _ = edges[0]
    wrong = next(iter({*range(task.num_nodes)} - {*edges[edges[:, 0] == about, 1].tolist()}))
    follow[about, wrong] = 2.0  # pushes one answer out of the largest logits
    share = measured(task, table, jnp.asarray(follow))[claims.RECALLED]
    assert share == pytest.approx(1 - 1 / len(edges))


def test_a_frozen_table_stays_while_the_rest_learns():
    numbers = {"b1": 0.9, "b2": 0.99, "epsilon": 1e-8, "weight_decay": 0.1}
    method = frozen.adamw_frozen_table(lambda _: 0.1, **numbers)
    free = adamw(lambda _: 0.1, **numbers)
    params = {"tok_emb": jnp.ones((3, 2)), "head": jnp.ones((2, 3))}
    slopes = jax.tree.map(lambda leaf: 2.0 + leaf, params)
    changes, free_changes = (m.update(slopes, m.init(params), params)[0] for m in (method, free))
    moved, freely = (optax.apply_updates(params, each) for each in (changes, free_changes))
    np.testing.assert_array_equal(moved["tok_emb"], params["tok_emb"])
    np.testing.assert_array_equal(moved["head"], freely["head"])
    assert (freely["tok_emb"] != params["tok_emb"]).all()
