"""Configs of linear problems: bad values are refused in one line, good ones build problems."""

import numpy as np
import pytest

from configs.linear_ntp import activations, figure1, random, text
from el_jax.config.linear_ntp import parse
from el_jax.linear_ntp import random_problem
from el_jax.process.errors import ConfigError
from el_jax.tasks.king_james import king_james_words


def problem_of(config):
    return parse(config).problem.make()


def message(config):
    with pytest.raises(ConfigError) as raised:
        problem_of(config)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_arguments_reach_the_builder():
    problem = problem_of(random.get_config("m=6,d=4,V=5,S=2,seed=3"))
    expected = random_problem(6, 4, 5, 2, seed=3)
    np.testing.assert_array_equal(problem.embeddings, expected.embeddings)
    np.testing.assert_array_equal(problem.next_token_probs, expected.next_token_probs)


@pytest.mark.parametrize("embedding", ["gaussian", "bag_of_words", "one_hot_positions"])
def test_text_has_the_words_that_follow(embedding):
    problem = parse(
        text.get_config(f"T=1,d=16,V=20,words=300,embedding={embedding}")
    ).problem.make()
    assert problem.vocab_size == 21  # and one for all other words
    assert problem.dim == 16
    assert problem.context_probs.sum() == pytest.approx(1)
    assert problem.support.any(axis=0).all()


def test_text_without_projection_has_one_dimension_a_word():
    problem = parse(
        text.get_config("T=2,d=0,V=20,words=300,embedding=one_hot_positions")
    ).problem.make()
    assert problem.dim == 2 * 21
    np.testing.assert_array_equal(problem.embeddings.sum(axis=0), 2)


def test_a_text_in_fewer_than_no_dimensions_is_named():
    config = text.get_config("T=1,d=-1,V=20,words=300,embedding=bag_of_words")
    assert message(config) == "config.problem: dim=-1: must be at least 0"


def test_activations_and_counts_may_share_a_file(tmp_path):
    path = tmp_path / "acts.npz"
    config = activations.get_config(f"file={path},unit")
    rows, counts = np.array([[1.0, 0], [1, 0], [0, 2]]), np.array([[3, 1, 0], [0, 0, 2]])
    np.savez(path, embeddings=rows, counts=counts)
    np.testing.assert_allclose(problem_of(config).embeddings, np.eye(2))
    np.savez(path, embeddings=rows)
    assert "acts.npz holds embeddings: must be a .npz file with emb" in message(config)
    path.write_bytes(b"no zip file")
    assert "acts.npz: must be a .npy or .npz file of numbers" in message(config)


def test_files_without_embeddings_and_counts_are_told_what_is_needed(tmp_path):
    needed = "must be a .npz file with embeddings [contexts, d] and counts [V, contexts]"
    path = tmp_path / "a.npz"
    config = activations.get_config(f"file={path}")
    np.savez(path, H=np.ones((2, 3)), P=np.eye(3))
    assert message(config) == f"config.problem: {path} holds H, P: {needed}"
    np.savez(path, embeddings=np.ones((2, 3)), counts=np.eye(4, 3))
    assert message(config) == (
        f"config.problem: {path} holds embeddings [2, 3], {path} counts [4, 3]: must be "
        "[contexts, d] and [V, contexts]"
    )
    np.savez(path, embeddings=np.ones((3, 2)), counts=np.ones(3))
    assert message(config).endswith("counts [3]: must be [contexts, d] and [V, contexts]")
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    alone = message(activations.get_config(f"file={tmp_path / 'a.npy'}"))
    assert alone == f"config.problem: {tmp_path / 'a.npy'} holds one array without a name: {needed}"


def test_activations_of_a_network_are_read_and_merged(tmp_path):
    np.save(tmp_path / "h.npy", np.array([[1.0, 0], [1, 0], [0, 2]], np.float32))
    np.save(tmp_path / "counts.npy", np.array([[3, 1, 0], [0, 0, 2]]))
    config = figure1.get_config()
    config.problem = {
        "name": "activations",
        "embeddings": str(tmp_path / "h.npy"),
        "counts": str(tmp_path / "counts.npy"),
        "unit_norm": True,
    }
    problem = problem_of(config)
    np.testing.assert_allclose(problem.embeddings, np.eye(2))
    np.testing.assert_allclose(problem.context_probs, [2 / 3, 1 / 3])
    config.problem.counts = str(tmp_path / "none.npy")
    assert "none.npy" in message(config)


def test_a_number_of_words_below_zero_does_not_cut_the_text():
    assert message(text.get_config("T=2,words=-40")) == (
        "config.problem: num_words=-40: must be at least 0"
    )


def test_contexts_of_a_text_are_all_beginnings_of_its_sequences():
    config = text.get_config("prefixes,T=3,words=40,V=100,embedding=one_hot_positions,d=0,steps=0")
    problem = problem_of(config)
    words = king_james_words(("Genesis",))[:40]
    rows = [tuple(words[i : i + 4]) for i in range(0, 40, 4)]
    beginnings = {row[:length] for row in rows for length in (1, 2, 3)}
    assert problem.embeddings.shape[1] == len(beginnings)
    assert {int(column.sum()) for column in problem.embeddings.T} == {1, 2, 3}
    # the most frequent first word has its share of the pairs
    first = max((row[0] for row in rows), key=[row[0] for row in rows].count)
    share = sum(row[0] == first for row in rows) / (3 * len(rows))
    assert np.isclose(problem.context_probs, share).any()
