"""The strings of an update of the copy task, and their places in windows."""

from dataclasses import replace
from itertools import chain

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from el_jax.tasks import PaddedCopy
from el_jax.tasks.copy import CopyStrings
from el_jax.tasks.packing import epoch_order

PAPER = PaddedCopy()
LETTERS = PaddedCopy(copy_length=5, padding_length=7, num_train=48)  # no two strings alike
LENGTHS = [(1, 6), (3, 7), (4, 4)]  # of the copy and of the padding; 3 does not divide 7
KEY = jax.random.key(0)
few = settings(derandomize=True, deadline=None, max_examples=10)


def rows(task, batch):
    """Strings of a batch as a list of tuples, in order."""
    return [tuple(row) for row in np.asarray(batch.tokens).reshape(-1, task.string_length)]


def epoch(task, index, train_set=None):
    """Strings of each update of one epoch."""
    train_set = task.train_set() if train_set is None else train_set
    updates = task.num_train // task.strings_per_update
    steps = range(index * updates, (index + 1) * updates)
    return [rows(task, task.batch_at(train_set, step, KEY)) for step in steps]


def test_a_window_written_out_by_hand():
    task = PaddedCopy(
        alphabet_size=4,
        copy_length=2,
        padding_length=3,
        strings_per_window=2,
        doc_mask=True,
        reset_positions=True,
    )
    first, second = [4, 3, 0, 0, 1, 0, 5, 3, 0, 6], [4, 1, 2, 2, 0, 1, 5, 1, 2, 6]
    batch = task.pack(CopyStrings(jnp.array([first, second]), jnp.array([0, 1])))
    np.testing.assert_array_equal(batch.tokens, [first + second])
    np.testing.assert_array_equal(batch.supervised, [[6, 7, 16, 17]])
    np.testing.assert_array_equal(batch.labels, [[3, 0, 1, 2]])
    np.testing.assert_array_equal(batch.groups, [[0, 0, 1, 1]])
    np.testing.assert_array_equal(batch.mask, [[True] * 4])
    np.testing.assert_array_equal(batch.positions, [[*range(10), *range(10)]])
    np.testing.assert_array_equal(batch.documents, [[0] * 10 + [1] * 10])


@given(
    lengths=st.sampled_from(LENGTHS),
    alphabet=st.integers(2, 30),
    packed=st.sampled_from([1, 3]),
    windows=st.integers(1, 2),
)
@few
def test_labels_are_the_next_tokens_and_the_letters_to_copy(lengths, alphabet, packed, windows):
    copied, padded = lengths
    task = PaddedCopy(alphabet_size=alphabet, copy_length=copied, padding_length=padded)
    strings = CopyStrings(*(leaf[: windows * packed] for leaf in task.test_set(6)))
    batch = task.pack(strings, strings_per_window=packed)
    assert batch.tokens.shape == (windows, packed * task.string_length)
    assert batch.supervised.shape == (windows, packed * copied)
    next_tokens = np.take_along_axis(np.asarray(batch.tokens), batch.supervised + 1, axis=1)
    np.testing.assert_array_equal(batch.labels, next_tokens)
    by_string = batch.labels.reshape(-1, task.answer_length)
    np.testing.assert_array_equal(by_string, strings.tokens[:, 1 : 1 + copied])
    np.testing.assert_array_equal(batch.groups.reshape(-1, copied).T, [strings.groups] * copied)
    first = np.asarray(batch.supervised)[:, ::copied]
    assert (np.take_along_axis(np.asarray(batch.tokens), first, axis=1) == alphabet + 1).all()
    assert batch.mask.all()


@given(lengths=st.sampled_from(LENGTHS), packed=st.sampled_from([1, 3]))
@few
def test_attention_targets_point_at_the_answer_and_at_the_own_padding(lengths, packed):
    copied, padded = lengths
    task = PaddedCopy(copy_length=copied, padding_length=padded)
    task = replace(task, num_train=6, strings_per_update=6, strings_per_window=packed)
    batch = task.pack(task.test_set(6))
    answer, padding = task.attention_targets()
    np.testing.assert_array_equal(batch.tokens[:, answer], batch.labels)
    assert (np.asarray(answer) < np.asarray(batch.supervised)).all()
    length = task.string_length
    for slot, is_padding in enumerate(np.asarray(padding)):
        start = slot // copied * length
        expected = np.arange(start + 1 + copied, start + length - 2 - copied)
        np.testing.assert_array_equal(np.flatnonzero(is_padding), expected)


@pytest.mark.parametrize("grouping", ["static", "reshuffled"])
def test_an_epoch_reads_each_string_once(grouping):
    task = replace(LETTERS, grouping=grouping, strings_per_window=2)
    everything = sorted(rows(task, task.pack(task.train_set())))
    assert len(set(everything)) == task.num_train
    for index in (0, 3):
        assert sorted(chain(*epoch(task, index))) == everything


@pytest.mark.parametrize("grouping", ["static", "reshuffled"])
def test_an_update_reads_the_same_strings_at_every_context_length(grouping):
    task = replace(PAPER, grouping=grouping)
    train_set = task.train_set()
    for step in (0, 7, 60):
        alone = task.batch_at(train_set, step, KEY)
        for packed in (2, 4, 8):
            wide = replace(task, strings_per_window=packed)
            batch = wide.batch_at(train_set, step, KEY)
            assert batch.tokens.shape == (8 // packed, 55 * packed)
            assert rows(task, batch) == rows(task, alone)
            np.testing.assert_array_equal(batch.groups.ravel(), alone.groups.ravel())
            np.testing.assert_array_equal(batch.labels.ravel(), alone.labels.ravel())


def test_a_loss_on_all_tokens_asks_for_every_next_one_of_the_same_strings():
    task = replace(PAPER, strings_per_window=2, num_train=16, supervise="all")
    train_set = task.train_set()
    batch, answers = (
        t.batch_at(train_set, 0, KEY) for t in (task, replace(task, supervise="answer"))
    )
    np.testing.assert_array_equal(batch.tokens, answers.tokens)
    places = np.concatenate(
        [np.arange(54), 55 + np.arange(54)]
    )  # the end of a string does not ask for the next string
    np.testing.assert_array_equal(batch.supervised, np.tile(places, (4, 1)))
    np.testing.assert_array_equal(batch.labels, np.asarray(batch.tokens)[:, places + 1])
    np.testing.assert_array_equal(batch.groups[:, [0, 54]], answers.groups)
    packed = task.pack(train_set)
    assert packed.labels.shape == (8, 2)  # in data sets only the answers are supervised


def test_all_tokens_of_long_copies_may_not_be_supervised():
    with pytest.raises(ValueError, match=r"must be one of \('answer',\) with copy_length=2"):
        replace(PAPER, supervise="all", copy_length=2)


def test_static_updates_stay_together_and_change_places():
    train_set = LETTERS.train_set()
    first, second = epoch(LETTERS, 0, train_set), epoch(LETTERS, 1, train_set)
    assert sorted(first) == sorted(second)
    assert first != second


def test_reshuffled_updates_get_new_neighbours():
    task = replace(LETTERS, grouping="reshuffled")
    first, second = ({frozenset(update) for update in epoch(task, index)} for index in (0, 1))
    assert not first & second


def test_order_depends_on_the_key_and_not_on_the_strings():
    numbered = LETTERS.train_set()._replace(groups=jnp.arange(LETTERS.num_train))

    def order(task, key=KEY):
        return [task.batch_at(numbered, step, key).groups[0, 0].item() for step in range(6)]

    assert order(LETTERS) == order(replace(LETTERS, easy_fraction=0.1, strings_per_window=4))
    assert order(LETTERS) == order(replace(LETTERS, data_seed=5))
    assert order(LETTERS) != order(LETTERS, jax.random.key(1))


@pytest.mark.parametrize("grouping", ["static", "reshuffled"])
def test_compiled_steps_in_any_order_are_the_eager_ones(grouping):
    task = replace(LETTERS, grouping=grouping, strings_per_window=4)
    train_set = task.train_set()
    compiled = jax.jit(PaddedCopy.batch_at, static_argnums=0)
    steps = jnp.arange(2 * task.num_train // task.strings_per_update)
    _, scanned = jax.lax.scan(
        lambda _, step: (None, task.batch_at(train_set, step, KEY)), None, steps
    )
    for step in (11, 0, 6):
        eager = task.batch_at(train_set, step, KEY)
        jax.tree.map(np.testing.assert_array_equal, compiled(task, train_set, step, KEY), eager)
        jax.tree.map(lambda a, b, i=step: np.testing.assert_array_equal(a[i], b), scanned, eager)


def test_attention_targets_of_one_string_by_hand():
    task = PaddedCopy(copy_length=2, padding_length=3, strings_per_window=8)
    answer, padding = task.attention_targets(strings_per_window=1)
    np.testing.assert_array_equal(answer, [1, 2])
    np.testing.assert_array_equal(padding, [[False] * 3 + [True] * 3 + [False] * 4] * 2)


def test_epoch_order_is_a_permutation_by_rows_or_by_strings():
    static = np.asarray(epoch_order(jax.random.key(1), 12, 3, static=True))
    np.testing.assert_array_equal(static, static[:, :1] + np.arange(3))
    np.testing.assert_array_equal(np.sort(static.ravel()), np.arange(12))
    reshuffled = np.asarray(epoch_order(jax.random.key(1), 12, 3, static=False))
    np.testing.assert_array_equal(np.sort(reshuffled.ravel()), np.arange(12))
    assert (np.diff(reshuffled) != 1).any()
