import inspect
import itertools
from collections import Counter

import numpy as np
import pytest

from el_jax.linear_ntp import (
    bag_of_tokens,
    from_counts,
    from_tokens,
    load_activations,
    one_hot_positions,
)

STREAM = np.array([0, 1, 2, 0, 1, 3, 1, 0, 2, 0, 1, 2])


def counted(result):
    """The counts of a result, as {(context, next token): count}."""
    found = {
        (tuple(context), int(token)): int(count)
        for context, column in zip(result.contexts, result.counts.T, strict=True)
        for token, count in zip(result.vocabulary, column, strict=True)
    }
    return {pair: count for pair, count in found.items() if count}


def test_windows_are_counted_as_a_loop_counts_them():
    result = from_tokens(STREAM, 2, embed=one_hot_positions(4))
    expected = Counter((tuple(STREAM[i : i + 2]), STREAM[i + 2]) for i in range(len(STREAM) - 2))
    assert counted(result) == expected
    np.testing.assert_allclose(result.problem.context_probs, result.counts.sum(axis=0) / 10)
    np.testing.assert_allclose(
        result.problem.next_token_probs, result.counts / result.counts.sum(axis=0)
    )
    np.testing.assert_array_equal(result.column, range(len(result.contexts)))


def test_prefixes_are_counted_row_by_row_and_filled_on_the_left():
    rows = np.array([[0, 1, 2], [0, 1, 1], [2, 0, 0]])
    result = from_tokens(rows, 2, embed=one_hot_positions(3), all_prefixes=True)
    assert counted(result) == {
        ((-1, 0), 1): 2,
        ((-1, 2), 0): 1,
        ((0, 1), 2): 1,
        ((0, 1), 1): 1,
        ((2, 0), 0): 1,
    }


def test_windows_do_not_cross_rows():
    result = from_tokens(STREAM.reshape(3, 4), 3, embed=one_hot_positions(4))
    assert counted(result) == {((0, 1, 2), 0): 1, ((1, 3, 1), 0): 1, ((2, 0, 1), 2): 1}


def test_contexts_with_one_embedding_are_merged_and_remembered():
    result = from_tokens(STREAM, 2, embed=bag_of_tokens(4))
    bags = {tuple(sorted(context)) for context in result.contexts.tolist()}
    assert result.problem.num_contexts == len(bags) < len(result.contexts)
    for context, column in zip(result.contexts, result.column, strict=True):
        share = np.bincount(context, minlength=4) / 2
        np.testing.assert_allclose(result.problem.embeddings[:, column], share)
    joined = np.zeros((4, len(bags)))
    np.add.at(joined.T, result.column, result.counts.T)
    np.testing.assert_allclose(result.problem.next_token_probs, joined / joined.sum(axis=0))
    np.testing.assert_allclose(result.problem.context_probs, joined.sum(axis=0) / joined.sum())


def test_rare_contexts_and_tokens_are_left_out():
    result = from_tokens(STREAM, 1, embed=one_hot_positions(4), vocab_limit=3, min_count=2)
    assert result.vocabulary.tolist() == [0, 1, 2]
    pairs = Counter((int(a), int(b)) for a, b in itertools.pairwise(STREAM) if b != 3)
    often = {a for a in range(4) if sum(n for (c, _), n in pairs.items() if c == a) >= 2}
    assert counted(result) == {((a,), b): n for (a, b), n in pairs.items() if a in often}
    assert 3 not in often


def test_a_token_that_only_begins_rows_takes_no_place_among_the_next_tokens():
    rows = np.array([[0, 1, 2], [0, 2, 1], [0, 1, 1]])
    result = from_tokens(rows, 1, embed=one_hot_positions(3), vocab_limit=2)
    assert result.vocabulary.tolist() == [1, 2]
    pairs = {((0,), 1): 2, ((0,), 2): 1, ((1,), 1): 1, ((1,), 2): 1, ((2,), 1): 1}
    assert counted(result) == pairs


def test_counts_give_probabilities():
    problem = from_counts(np.eye(2), np.array([[3, 0], [1, 4]]))
    np.testing.assert_allclose(problem.context_probs, [0.5, 0.5])
    np.testing.assert_allclose(problem.next_token_probs, [[0.75, 0], [0.25, 1]])
    with pytest.raises(ValueError, match=r"counts\[:, 1\] sums to 0: must be positive"):
        from_counts(np.eye(2), np.array([[3, 0], [1, 0]]))
    with pytest.raises(ValueError, match=r"counts.shape=\(2, 3\): must be \(V, 2\), since"):
        inspect.unwrap(from_counts)(np.eye(2), np.ones((2, 3)))  # tests also check types
    for wrong in (-1, np.nan):
        with pytest.raises(
            ValueError, match=f"least count={wrong:.1f}: must be finite, at least 0"
        ):
            from_counts(np.eye(2), np.array([[3, 1], [1, wrong]]))


def test_activations_are_read_row_by_row(tmp_path):
    rows = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    np.save(tmp_path / "h.npy", rows)
    embeddings = load_activations(tmp_path / "h.npy")
    assert embeddings.dtype == np.float64
    np.testing.assert_array_equal(embeddings, rows.reshape(6, 4).T)
    unit = load_activations(tmp_path / "h.npy", unit_norm=True)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=0), 1)
    np.testing.assert_allclose(unit, embeddings / np.linalg.norm(embeddings, axis=0))


def test_activations_are_chosen_by_name(tmp_path):
    path = tmp_path / "h.npz"
    np.savez(path, last=np.eye(2), first=np.ones((3, 2)))
    np.testing.assert_array_equal(load_activations(path, name="first"), np.ones((2, 3)))
    with pytest.raises(ValueError, match="name=None: must be one of last, first"):
        load_activations(path)
    np.savez(path, alone=2 * np.eye(2))
    np.testing.assert_array_equal(load_activations(path), 2 * np.eye(2))


def test_activations_without_direction_are_refused(tmp_path):
    np.save(tmp_path / "h.npy", np.diag([1.0, 0.0]))
    with pytest.raises(ValueError, match=r"row 1 of .* is zero"):
        load_activations(tmp_path / "h.npy", unit_norm=True)
    np.save(tmp_path / "h.npy", np.ones(3))
    with pytest.raises(ValueError, match=r"shape \(3,\): must be"):
        load_activations(tmp_path / "h.npy")
