"""Path-star graphs: their distribution, windows, the teacher's tokens, and published files."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from configs.by_name import get_config as by_name
from configs.el.path_star import get_config
from el_jax import build
from el_jax.models.lookup_table import LookupTableConfig, lookup_table
from el_jax.process.compilation import Once
from el_jax.process.errors import ConfigError
from el_jax.tasks import PathStar

KEY = jax.random.key(0)
# the first lines of deg_2_path_3_nodes_10_test_20000.txt of the repository
LINES = ["2,8|5,2|5,9|9,3/5,8=5,2,8", "1,6|1,5|5,3|6,2/1,2=1,6,2", "0,6|6,1|7,2|0,7/0,1=0,6,1"]


def arms_of(edges, start):
    """The arms of a star, each from the neighbour of the start to its leaf."""
    follows = dict(edges[edges[:, 0] != start].tolist())
    arms = []
    for node in edges[edges[:, 0] == start, 1].tolist():
        arms.append([node])
        while arms[-1][-1] in follows:
            arms[-1].append(follows[arms[-1][-1]])
    return arms


@pytest.mark.parametrize(("degree", "length", "nodes"), [(2, 3, 5), (5, 3, 50), (3, 2, 4)])
def test_a_graph_is_a_star_whose_path_ends_a_whole_arm(degree, length, nodes):
    task = PathStar(degree=degree, path_length=length, num_nodes=nodes)
    for edges, path in zip(*map(np.asarray, Once(lambda: task.test_set(50))()), strict=True):
        assert edges.shape == (degree * (length - 1), 2)
        arms = arms_of(edges, path[0])
        assert [len(arm) for arm in arms] == degree * [length - 1]
        assert path[1:].tolist() in arms
        seen = [path[0], *np.concatenate(arms)]
        assert len({*seen}) == 1 + task.num_edges
        assert 0 <= min(seen) <= max(seen) < nodes


def test_nothing_but_the_query_tells_the_branch():
    """Start, goal, and the place of the right branch among all edges are uniform."""
    num = 4000
    task = PathStar(num_nodes=10)
    edges, path = map(np.asarray, Once(lambda: task.test_set(num))())
    place = (edges == path[:, None, :2]).all(-1).argmax(1)
    for drawn, kinds in ((place, 4), (path[:, 0], 10), (path[:, 1], 10), (path[:, 2], 10)):
        shares = np.bincount(drawn, minlength=kinds) / num
        assert abs(shares - 1 / kinds).max() < 4 * np.sqrt(1 / kinds / num)


def test_a_window_reads_as_a_line_of_the_files():
    task = PathStar(degree=2, path_length=3, num_nodes=10)
    graphs = Once(lambda: task.test_set(3))()
    batch = Once(task.pack)(graphs)
    assert batch.tokens.shape == (3, task.window_length) == (3, 15 + 3)
    assert task.vocab_size == 10 + 4
    for row, edges, path in zip(batch.tokens, *map(np.asarray, graphs), strict=True):
        drawn = "|".join(f"{a},{b}" for a, b in edges)
        asked = ",".join(map(str, path))
        assert task.render(row) == f"{drawn}/{path[0]},{path[-1]}={asked}"
    np.testing.assert_array_equal(batch.labels, graphs.path)
    np.testing.assert_array_equal(batch.supervised, np.tile([14, 15, 16], (3, 1)))
    np.testing.assert_array_equal(batch.groups, np.tile([0, 1, 2], (3, 1)))
    assert [*map(task.special_ids.index, [10, 11, 12, 13])] == [0, 1, 2, 3]  # | = / $


def test_groups_are_places_on_the_path_whichever_way_it_is_asked_for():
    task = PathStar(path_length=5, num_nodes=20)
    assert task.group_names == ("start", "branch", "node_2", "node_3", "last_node")
    assert PathStar(path_length=2).group_names == ("start", "branch")
    back = dataclasses.replace(task, order="reversed")
    forward, backward = Once(lambda: [t.pack(t.test_set(9)) for t in (task, back)])()
    np.testing.assert_array_equal(backward.labels, forward.labels[:, ::-1])
    np.testing.assert_array_equal(backward.groups, forward.groups[:, ::-1])
    prefix = slice(0, task.prefix_length)
    np.testing.assert_array_equal(backward.tokens[:, prefix], forward.tokens[:, prefix])


def test_without_a_teacher_the_path_is_hidden_in_training_and_test():
    forced, hidden = (PathStar(num_nodes=12, teacher=kind) for kind in ("forced", "none"))
    for one in (lambda t: t.pack(t.test_set(8)), lambda t: t.batch_at(t.train_set(), 3, KEY)):
        seen, unseen = Once(lambda: (one(forced), one(hidden)))()  # noqa: B023
        prefix = forced.prefix_length
        assert (unseen.tokens[:, prefix:] == hidden.special_ids[-1]).all()
        shown = unseen._replace(tokens=unseen.tokens.at[:, prefix:].set(seen.tokens[:, prefix:]))
        jax.tree.map(np.testing.assert_array_equal, shown, seen)
    assert forced.render(unseen.tokens[0]).endswith("=$,$,$")


def test_masking_hides_a_share_of_the_path_in_training_alone():
    forced, masked = (PathStar(num_nodes=12, teacher=kind) for kind in ("forced", "masked"))
    masked = dataclasses.replace(masked, mask_rate=0.3)
    tests = Once(lambda: [t.pack(t.test_set(8)) for t in (forced, masked)])()
    jax.tree.map(np.testing.assert_array_equal, *tests)
    batch_at = Once(lambda t, step: t.batch_at(t.train_set(), step, KEY), static_argnums=0)
    seen, unseen = (batch_at(t, 3) for t in (forced, masked))
    np.testing.assert_array_equal(seen.labels, unseen.labels)
    hidden = np.asarray(unseen.tokens == masked.special_ids[-1])
    np.testing.assert_array_equal(np.asarray(unseen.tokens)[~hidden], seen.tokens[~hidden])
    assert not hidden[:, : masked.prefix_length].any()
    shares = hidden[:, masked.prefix_length :].mean(0)
    assert abs(shares - 0.3).max() < 4 * np.sqrt(0.3 * 0.7 / 256)
    later = batch_at(masked, 4).tokens == masked.special_ids[-1]
    assert (later != hidden).any()


def test_masked_diffusion_predicts_hidden_tokens_where_they_stand():
    """Training hides a uniform number of them at uniform places; the test hides all."""
    num = 4096
    forced, hidden = (
        PathStar(path_length=4, num_nodes=12, teacher=kind, graphs_per_update=num)
        for kind in ("forced", "diffusion")
    )
    batch_at = Once(lambda t, step: t.batch_at(t.train_set(), step, KEY), static_argnums=0)
    seen, batch = (batch_at(t, 3) for t in (forced, hidden))
    first, end = hidden.prefix_length, hidden.window_length
    np.testing.assert_array_equal(batch.supervised, np.tile(np.arange(first, end), (num, 1)))
    np.testing.assert_array_equal(batch.labels, seen.tokens[:, first:])
    shown = jnp.where(batch.mask, hidden.special_ids[-1], seen.tokens[:, first:])
    np.testing.assert_array_equal(batch.tokens, seen.tokens.at[:, first:].set(shown))
    mask = np.asarray(batch.mask)
    error = 4 * np.sqrt(0.25 * 0.75 / num)
    assert abs(np.bincount(mask.sum(1), minlength=5) / num - [0, *4 * [0.25]]).max() < error
    alone = mask[mask.sum(1) == 1].mean(0)  # shares of the four places where one is hidden
    assert abs(alone - 0.25).max() < 2 * error
    assert batch_at(hidden, 4).mask.tolist() != batch.mask.tolist()
    test = Once(lambda: hidden.pack(hidden.test_set(8)))()
    assert test.mask.all()
    assert (test.tokens[:, first:] == hidden.special_ids[-1]).all()


def test_a_curriculum_moves_the_goal_outwards():
    plain = PathStar(path_length=4, num_nodes=12, graphs_per_update=8)
    task = dataclasses.replace(plain, curriculum=7)
    batch_at = Once(lambda t, step: t.batch_at(t.train_set(), step, KEY), static_argnums=0)
    first = plain.prefix_length
    for step, goal in ((0, 1), (2, 1), (3, 2), (4, 2), (5, 3), (7, 3), (90, 3)):
        whole, shorter = batch_at(plain, step), batch_at(task, step)
        path, tokens = np.asarray(whole.tokens[:, first:]), np.array(whole.tokens)
        tokens[:, first - 2] = path[:, goal]
        tokens[:, first + goal + 1 :] = task.special_ids[-1]
        np.testing.assert_array_equal(shorter.tokens, tokens)
        np.testing.assert_array_equal(shorter.labels[:, : goal + 1], path[:, : goal + 1])
        assert (np.asarray(shorter.mask) == (np.arange(4) <= goal)).all()


def test_only_masked_diffusion_may_see_later_tokens():
    config = get_config("teacher=diffusion,smoke")
    assert not build.parse(config).task.labels_follow
    config.task.teacher = "masked"
    with pytest.raises(ConfigError, match=r"causal=False with .*: must be True"):
        build.parse(config)
    for model in ("gpt2", "lstm"):
        config = get_config("smoke") if model == "gpt2" else by_name("task=path_star,model=lstm")
        config.task.teacher = "diffusion"
        with pytest.raises(ConfigError, match="'diffusion': needs a model that sees both sides"):
            build.checked(build.parse(config))


def test_every_update_has_graphs_of_its_own():
    task = PathStar(num_nodes=12, graphs_per_update=16)
    batch_at = Once(lambda step, key: task.batch_at(task.train_set(), step, key))
    first, again, later = (batch_at(step, KEY) for step in (3, 3, 4))
    jax.tree.map(np.testing.assert_array_equal, first, again)
    assert (first.tokens != later.tokens).any(1).all()
    other = batch_at(3, jax.random.key(1))
    assert (first.tokens != other.tokens).any(1).all()


def test_a_fixed_set_is_read_once_an_epoch():
    task = PathStar(num_nodes=12, num_train=48, graphs_per_update=16)
    data, batch_at = Once(task.train_set)(), Once(task.batch_at)
    read = np.concatenate([batch_at(data, update, KEY).tokens for update in range(3)])
    given = np.asarray(Once(task.pack)(data).tokens)
    ordered = [rows[np.lexsort(rows.T)] for rows in (read, given)]
    np.testing.assert_array_equal(*ordered)
    assert (read != given).any()


def exact_matches(logits, labels):
    return np.asarray(logits.argmax(-1) == labels).all(-1)


def test_teacher_forced_exact_match_is_that_of_greedy_decoding():
    task = PathStar(degree=1, path_length=3, num_nodes=3)
    model = lookup_table(LookupTableConfig(vocab_size=7, order=2))
    shape = jax.eval_shape(model.init, KEY)["logits"].shape
    drawn = jnp.asarray(np.random.default_rng(16).normal(size=shape), jnp.float32)
    params = {"logits": drawn.at[:, 3:].add(-10.0)}  # a path has only nodes
    batch, apply = Once(lambda: task.pack(task.test_set(600)))(), Once(model.apply)
    forced = exact_matches(apply(params, batch), batch.labels)
    for place in range(task.path_length):  # decode: each answer is read by the next
        answer = apply(params, batch)[:, place].argmax(-1)
        batch = batch._replace(tokens=batch.tokens.at[:, task.prefix_length + place].set(answer))
    decoded = np.asarray(batch.tokens)[:, task.prefix_length :]
    greedy = (decoded == batch.labels).all(-1)
    np.testing.assert_array_equal(forced, greedy)
    assert 0 < greedy.mean() < 1


@pytest.fixture(name="file")
def a_test_file(tmp_path):
    path = tmp_path / "deg_2_path_3_nodes_10_test_3.txt"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


def test_the_repositorys_files_are_test_sets(file):
    task = PathStar(num_nodes=10, test_file=str(file))
    assert [task.render(row) for row in task.pack(task.test_set(3)).tokens] == LINES
    assert task.pack(task.test_set(2)).tokens.shape[0] == 2
    backward = dataclasses.replace(task, order="reversed").pack(task.test_set(1))
    assert backward.labels.tolist() == [[8, 2, 5]]


@pytest.mark.parametrize(
    ("line", "changes", "fault"),
    [
        ("2,8|5,2|5,9|9,3/5,8=5,2", {}, "line 4: must have 13 labels, not 12"),
        ("2,8|5,2|5,9|9,3/5,8", {}, "line 4: must be a,b|c,d|.../start,goal=start,...,goal"),
        ("2,8|5,2|5,9|9,3/5,8=5,9,8", {}, "line 4: its path must follow its edges"),
        ("2,8|5,2|5,10|10,3/5,8=5,2,8", {}, "line 4: labels must be below num_nodes=10"),
    ],
)
def test_the_fault_of_a_file_is_named_with_its_line(file, line, changes, fault):
    file.write_text(file.read_text() + line, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(f"test_file={str(file)!r}: {fault}")):
        PathStar(**{"num_nodes": 10, "test_file": str(file)} | changes).test_set(1)


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("task.num_nodes", 4, "num_nodes=4: must be at least 5, the nodes of 2 arms of path_l"),
        ("task.num_train", 100, "num_train=100: must be 0 or a multiple of graphs_per_update=16"),
        ("task.curriculum", -1, "curriculum=-1: must be 0, or at least 1 with order='forward' and"),
        ("task.test_file", "no.txt", "test_file='no.txt': No such file or directory"),
        ("eval.test", 4, "test=4: must be at most 3, the graphs of test_file"),
    ],
)
def test_a_bad_number_is_refused_in_one_line(file, key, value, fault):
    config = get_config(f"smoke,test_file={file}" if key == "eval.test" else "smoke")
    config.task.num_nodes = 10
    section, name = key.split(".")
    config[section][name] = value
    with pytest.raises(ConfigError, match=re.escape(f"config.{section}.{fault}")) as refused:
        build.checked(build.parse(config))
    assert "\n" not in str(refused.value)


def test_both_published_sizes_are_named():
    for arg, layers in (("scale=paper", 12), ("scale=paper,size=readme", 6)):
        settings = build.parse(get_config(arg))
        model = settings.model_config
        assert (model.num_layers, model.width, model.num_heads) == (layers, 384, 6)
        assert not model.uses_dropout
        assert settings.task.vocab_size == 54
