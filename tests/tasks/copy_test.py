"""The distribution of the padded-shifted copy task and its data sets."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from el_jax.tasks import PaddedCopy

PAPER = PaddedCopy()
LONG = PaddedCopy(copy_length=5, padding_length=2000, num_train=8)
SMALL = PaddedCopy(alphabet_size=5, copy_length=3, padding_length=7, num_train=16)
few = settings(derandomize=True, deadline=None, max_examples=10)


@st.composite
def tasks(draw):
    alphabet = draw(st.integers(2, 30))
    copied, padded = draw(st.sampled_from([(1, 6), (3, 7), (4, 4)]))
    return PaddedCopy(
        alphabet_size=alphabet,
        copy_length=copied,
        padding_length=padded,
        shift=draw(st.integers(0, alphabet - 1)),
        easy_fraction=draw(st.sampled_from([0.0, 0.5, 1.0])),
        data_seed=draw(st.integers(0, 3)),
    )


def parts(task, strings):
    """Cuts strings into BOS, seq, padding, CLS, copy and EOS."""
    copied, padded = task.copy_length, task.padding_length
    ends = np.cumsum([1, copied, padded, 1, copied])
    return np.split(np.asarray(strings.tokens), ends, axis=1)


def spell(word):
    return [ord(letter) - ord("a") for letter in word]


def test_gravity_is_padded_with_hsbwjuz():
    task = PaddedCopy(copy_length=7, padding_length=10, easy_fraction=1.0)
    padding = task._easy_padding(jnp.array([spell("gravity"), spell("zzzzzza")]))
    np.testing.assert_array_equal(padding, [spell("hsbwjuzhsb"), spell("aaaaaabaaa")])


def test_a_string_written_out_by_hand():
    task = PaddedCopy(alphabet_size=4, copy_length=2, padding_length=3, easy_fraction=1.0)
    seq = jnp.array([[3, 0]])
    tokens = task._string(seq, task._easy_padding(seq))
    np.testing.assert_array_equal(tokens, [[4, 3, 0, 0, 1, 0, 5, 3, 0, 6]])


@pytest.mark.parametrize(
    ("task", "length", "window"),
    [(PAPER, 55, 55), (LONG, 2013, 2013), (replace(PAPER, strings_per_window=8), 55, 440)],
)
def test_lengths_of_the_paper(task, length, window):
    assert (task.string_length, task.window_length) == (length, window)
    assert task.test_set(8).tokens.shape == (8, length)
    batch = task.batch_at(task.train_set(), 0, jax.random.key(0))
    assert batch.tokens.shape == (8 * length // window, window)


def test_facts_of_the_paper_setting():
    assert (PAPER.vocab_size, PAPER.answer_length) == (29, 1)
    assert PAPER.num_train // PAPER.strings_per_update == 50  # updates of an epoch
    assert PAPER.chance == 1 / 26
    assert PAPER.special_ids == (26, 27, 28)
    assert PAPER.train_set().tokens.shape == (400, 55)


@given(tasks())
@few
def test_every_string_has_its_form(task):
    strings = task.sample(jax.random.key(0), 6)
    bos, seq, padding, cls, copy, eos = parts(task, strings)
    special = np.hstack([bos, cls, eos])
    np.testing.assert_array_equal(special, np.tile(task.special_ids, (6, 1)))
    np.testing.assert_array_equal(copy, seq)
    letters = np.hstack([seq, padding])
    assert letters.min() >= 0
    assert letters.max() < task.alphabet_size
    assert strings.tokens.dtype == strings.groups.dtype == np.int32


@given(tasks())
@few
def test_easy_padding_is_the_shifted_seq_tiled(task):
    task = replace(task, easy_fraction=1.0)
    strings = task.test_set(6)
    _, seq, padding, *_ = parts(task, strings)
    shifted = (seq + task.shift) % task.alphabet_size
    repeats = -(-task.padding_length // task.copy_length)
    np.testing.assert_array_equal(padding, np.tile(shifted, repeats)[:, : task.padding_length])
    assert not strings.groups.any()


def test_share_of_easy_strings_and_what_the_groups_mean():
    num = 20_000
    strings = PAPER.test_set(num)
    groups = np.asarray(strings.groups)
    assert abs((groups == 0).mean() - 0.8) < 4 * np.sqrt(0.8 * 0.2 / num)
    _, seq, padding, *_ = parts(PAPER, strings)
    tiled = (padding == (seq + 1) % 26).all(axis=1)
    np.testing.assert_array_equal(tiled, groups == 0)


def test_letters_are_uniform_and_hard_padding_is_independent_of_seq():
    strings = PAPER.test_set(20_000)
    _, seq, padding, *_ = parts(PAPER, strings)
    noise = padding[np.asarray(strings.groups) == 1]
    hard_seq = seq[np.asarray(strings.groups) == 1]
    differences = (noise - hard_seq) % 26
    for letters in (seq, noise, differences, noise[:, 0], (noise[:, 1:] - noise[:, :-1]) % 26):
        assert stats.chisquare(np.bincount(letters.ravel(), minlength=26)).pvalue > 1e-3


@pytest.mark.parametrize(("fraction", "group"), [(0.0, 1), (1.0, 0)])
def test_easy_fraction_can_be_none_or_all(fraction, group):
    assert (replace(PAPER, easy_fraction=fraction).test_set(400).groups == group).all()


def test_raising_the_easy_fraction_only_turns_hard_strings_easy():
    few_easy, many_easy = (
        replace(PAPER, easy_fraction=p, data_seed=3).test_set(400) for p in (0.3, 0.6)
    )
    turned = few_easy.groups != many_easy.groups
    assert turned.any()
    assert (few_easy.groups[turned] == 1).all()
    np.testing.assert_array_equal(few_easy.tokens[~turned], many_easy.tokens[~turned])
    np.testing.assert_array_equal(few_easy.tokens[:, 1], many_easy.tokens[:, 1])


def test_sets_repeat_and_depend_on_the_seed():
    again = PaddedCopy().train_set()
    np.testing.assert_array_equal(PAPER.train_set().tokens, again.tokens)
    assert (replace(PAPER, data_seed=1).train_set().tokens != again.tokens).any()


def test_train_test_and_swap_sets_are_separate_draws():
    task = PaddedCopy(alphabet_size=1000, copy_length=5, padding_length=5, num_train=48)
    sets = (task.train_set(), task.test_set(48), task.swap_set(48)[0])
    seqs = np.concatenate([strings.tokens[:, 1:6] for strings in sets])
    assert len(np.unique(seqs, axis=0)) == 3 * 48  # chance gives 1e-11 coincidences


def test_a_larger_set_begins_with_the_smaller():
    for draw in (SMALL.test_set, SMALL.swap_set):
        jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b[:6]), draw(6), draw(16))
    more = replace(SMALL, num_train=8).train_set()
    np.testing.assert_array_equal(SMALL.train_set().tokens[:8], more.tokens)


def test_updates_without_a_training_set_draw_new_strings_by_run_and_step():
    task = replace(SMALL, num_train=0, strings_per_update=16)
    data, batch_at = task.train_set(), jax.jit(task.batch_at)
    assert len(data.tokens) == 1024
    read = [batch_at(data, step, jax.random.key(run)) for run in (0, 1) for step in (0, 1)]
    windows = np.concatenate([batch.tokens for batch in read])
    assert len(np.unique(windows[:, 1:4], axis=0)) > 40  # of 64 draws among 125
    again = task.batch_at(data, 1, jax.random.key(1))
    np.testing.assert_array_equal(again.tokens, read[3].tokens)
    np.testing.assert_array_equal(again.labels, again.tokens[:, 1:4])


@given(tasks())
@few
def test_swapped_answers_never_coincide_and_are_the_padding_unshifted(task):
    strings, shortcut = task.swap_set(6)
    _, seq, padding, _, copy, _ = parts(task, strings)
    shortcut = np.asarray(shortcut)
    assert (shortcut != seq).all()
    np.testing.assert_array_equal(copy, seq)
    unshifted = (padding - task.shift) % task.alphabet_size
    place = np.arange(task.padding_length) % task.copy_length
    np.testing.assert_array_equal(unshifted, shortcut[:, place])
    assert (strings.groups == 1).all()


def test_swapped_seq_is_uniform_over_the_other_letters():
    strings, shortcut = PAPER.swap_set(20_000)
    _, seq, *_ = parts(PAPER, strings)
    offset = (np.asarray(shortcut) - seq) % 26
    assert stats.chisquare(np.bincount(offset.ravel(), minlength=26)[1:]).pvalue > 1e-3
    assert stats.chisquare(np.bincount(seq.ravel(), minlength=26)).pvalue > 1e-3


def test_render():
    task = PaddedCopy(copy_length=2, padding_length=5, easy_fraction=1.0)
    seq = jnp.array([spell("gz"), spell("ab")])
    string, other = task._string(seq, task._easy_padding(seq))
    assert task.render(string) == "<BOS>gz hahah <CLS>gz<EOS>"
    assert task.render(string, max_padding=3) == "<BOS>gz hah… <CLS>gz<EOS>"
    both = jnp.concatenate([string, other])
    assert task.render(both) == "<BOS>gz hahah <CLS>gz<EOS> <BOS>ab bcbcb <CLS>ab<EOS>"


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("padding_length", 0, "at least copy_length=1"),
        ("easy_fraction", 1.5, r"in \[0, 1\]"),
        ("shift", 26, r"in \[0, 26\)"),
        ("num_train", 404, "multiple of strings_per_update=8"),
        ("strings_per_window", 3, "divisor of strings_per_update=8"),
        ("grouping", "random", "'static', 'reshuffled'"),
    ],
)
def test_errors_name_field_value_and_what_is_allowed(field, value, allowed):
    with pytest.raises(ValueError, match=rf"{field}={value!r}: must be .*{allowed}"):
        PaddedCopy(**{field: value})
