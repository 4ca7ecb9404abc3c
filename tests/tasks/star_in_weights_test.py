"""A memorised star: its edges and paths, the facts told of held-out arms, and bad settings."""

import dataclasses
import itertools
import re

import jax
import numpy as np
import pytest

from configs.el.star_in_weights import get_config
from el_jax import build
from el_jax.process.errors import ConfigError
from el_jax.tasks import StarInWeights

KEY = jax.random.key(0)


def lines_of(task, facts):
    return [task.render(row) for row in task.pack(facts).tokens]


def edges_of(task):
    """The edges of a star away from the start and back, taken from its arms."""
    away = {(a, b) for arm in task.arms().tolist() for a, b in itertools.pairwise(arm)}
    return away, {(b, a) for a, b in away}


@pytest.mark.parametrize(("degree", "length"), [(2, 2), (4, 5), (9, 3)])
def test_the_arms_are_a_star_of_all_nodes(degree, length):
    task = StarInWeights(degree=degree, path_length=length)
    arms = np.asarray(task.arms())
    assert arms.shape == (degree, length)
    assert len({*arms[:, 0].tolist()}) == 1
    seen = [arms[0, 0], *arms[:, 1:].ravel()]
    assert sorted(seen) == [*range(task.num_nodes)] == [*range(1 + degree * (length - 1))]
    assert task.vocab_size == task.num_nodes + 3
    assert (np.asarray(dataclasses.replace(task, data_seed=1).arms()) != arms).any()


def test_windows_read_as_lines_of_the_files():
    task = StarInWeights(degree=3, path_length=4, num_held_out=2)
    lines = lines_of(task, task.train_set())
    away, back = edges_of(task)
    arms = task.arms().tolist()
    told = f"{arms[0][-1]}={','.join(map(str, arms[0]))}"
    assert sorted(lines) == sorted([*(f"{a}={b}" for a, b in away | back), told])
    asked = [f"{arm[-1]}={','.join(map(str, arm))}" for arm in (arms[2], arms[1], arms[2])]
    assert lines_of(task, task.test_set(3)) == asked
    edges_alone = dataclasses.replace(task, asked="edges")
    assert sorted(lines_of(edges_alone, edges_alone.train_set())) == sorted({*lines} - {told})


def test_edges_away_from_the_start_lead_to_leaves():
    task = StarInWeights(directions="away", asked="edges")
    away, _ = edges_of(task)
    assert sorted(lines_of(task, task.train_set())) == sorted(f"{a}={b}" for a, b in away)


def test_nothing_is_told_of_untold_arms():
    task = StarInWeights(degree=5, path_length=3, num_held_out=2, untold=True)
    told = np.asarray(task.pack(task.train_set()).tokens)
    start, *others = {*task.arms()[-2:, 0].tolist()}, *task.arms()[-2:, 1:].ravel().tolist()
    assert start < {*told.ravel().tolist()}
    assert not np.isin(told, others).any()
    known = dataclasses.replace(task, untold=False)
    assert np.isin(others, np.asarray(known.pack(known.train_set()).tokens)).all()
    np.testing.assert_array_equal(known.arms(), task.arms())
    assert lines_of(known, known.test_set(2)) == lines_of(task, task.test_set(2))


def test_one_token_of_an_edge_is_asked_for_and_all_of_a_path():
    task = StarInWeights(degree=2, path_length=4)
    batch = task.pack(task.train_set())
    *edges, path = range(len(batch.tokens))
    edge, of_path, _ = task.special_ids
    assert batch.tokens[:, 0].tolist() == [edge] * len(edges) + [of_path]
    assert task.group_names == ("edge", "start", "branch", "node_2", "last_node")
    assert batch.mask[path].all()
    assert batch.groups[path].tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(batch.mask[:path], np.tile([True, False, False, False], (12, 1)))
    assert (batch.groups[:path] == 0).all()
    np.testing.assert_array_equal(batch.labels[:, 0], batch.tokens[:, 2])
    assert (np.asarray(batch.supervised) == np.arange(1, 5)).all()


def test_every_update_of_every_run_reads_all():
    task = StarInWeights()
    whole = task.pack(task.train_set())
    for step, key in ((0, KEY), (7, jax.random.key(3))):
        read = task.batch_at(task.train_set(), step, key)
        jax.tree.map(np.testing.assert_array_equal, read, whole)


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("degree", 1, "degree=1: must be at least 2"),
        ("num_held_out", 4, "num_held_out=4: must be at least 1 and below degree=4"),
        ("asked", "paths", "asked='paths': must be one of ('edges', 'edges and paths')"),
    ],
)
def test_a_bad_setting_is_one_line(key, value, fault):
    config = get_config("smoke")
    with config.ignore_type():
        config.task[key] = value
    with pytest.raises(ConfigError, match=re.escape(fault)) as error:
        build.parse(config)
    assert "\n" not in str(error.value)
