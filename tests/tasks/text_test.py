"""Natural text: sentences, places of labels, windows, the split, controls, and bad fields."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from configs.el.text_copy import get_config
from el_jax import build
from el_jax.process.errors import ConfigError
from el_jax.tasks import TextCopy
from el_jax.tasks.documents import king_james_books, sentences_of
from el_jax.tokenizers import SEPARATOR

KEY = jax.random.key(0)
SMALL = TextCopy(trained_size=600, max_words=14, max_tokens=64, num_train=512)


@functools.cache
def rendered(task, num=400):
    """Text, group and answer of test sentences."""
    batch = task.test_set(num)
    tokenizer, rows = task.text_tokenizer, []
    for tokens, labels, mask, groups in zip(
        *map(np.asarray, (batch.tokens, batch.labels, batch.mask, batch.groups)), strict=True
    ):
        answer = tokenizer.decode(labels[mask].tolist())
        rows.append((task.render(tokens), int(groups[0]), answer))
    return rows


def parts_of(text):
    """The sentence of a window with its labels, and the answer."""
    sentence, arrow, answer = text.rpartition(" ->")
    assert arrow
    return sentence, answer


def test_a_label_stands_at_the_start_of_easy_sentences_and_in_the_middle_of_all():
    groups, places = [], []
    for text, group, answer in rendered(SMALL):
        sentence, last = parts_of(text)
        assert last == answer
        words, label = sentence.split(), answer.strip()
        assert (words[0] == label) == (group == 0)
        own = words[1:] if group == 0 else words
        assert own.count(label) == 1
        before, num = own.index(label), len(own) - 1
        assert 8 <= num <= 14
        assert num / 3 <= before <= 2 * num / 3
        groups.append(group)
        places.append(before - -(-num // 3))
    assert abs(np.mean(groups) - 0.2) < 4 * np.sqrt(0.16 / len(groups))
    assert len({*places}) > 2  # drawn, not fixed
    half = dataclasses.replace(SMALL, middle="half")
    for text, group, answer in rendered(half, 50):
        own = parts_of(text)[0].split()[group == 0 :]
        assert own.index(answer.strip()) == (len(own) - 1) // 2


def test_sentences_are_those_of_the_book_that_the_label_names():
    books = {}
    for label, text in king_james_books():
        books.setdefault(label, []).append(" ".join(text.split()))
    assert len(books) == 56
    for text, group, answer in rendered(SMALL, 100):
        label, words = answer.strip(), parts_of(text)[0].split()[group == 0 :]
        words.remove(label)
        assert any(" ".join(words) in book for book in books[label])


def test_windows_ask_for_every_token_of_the_label_and_nothing_else():
    batch = SMALL.test_set(300)
    tokens, places, labels, mask = map(
        np.asarray, (batch.tokens, batch.supervised, batch.labels, batch.mask)
    )
    assert tokens.shape == (300, SMALL.window_length)
    assert SMALL.window_length <= 64
    assert labels.shape == places.shape == mask.shape == (300, SMALL.answer_length)
    assert mask[:, 0].all()
    assert (~mask).any()  # labels of several lengths
    arrow = SMALL.text_tokenizer.encode(" ->").ids
    fill = SMALL.text_tokenizer.token_to_id(SEPARATOR)
    for row in range(300):
        asked = int(mask[row].sum())
        at = places[row, :asked] + 1
        np.testing.assert_array_equal(tokens[row, at], labels[row, :asked])
        np.testing.assert_array_equal(tokens[row, at[0] - len(arrow) : at[0]], arrow)
        assert (tokens[row, at[-1] + 1 :] == fill).all()
        assert tokens[row, 0] == fill
    assert (np.asarray(batch.groups) == np.asarray(batch.groups)[:, :1]).all()


def test_test_sentences_are_not_those_of_training_and_more_begin_with_fewer():
    train = {SMALL.render(row).rpartition("->")[0] for row in np.asarray(SMALL.train_set().tokens)}
    assert len(train) == 512
    assert not train & {text.rpartition("->")[0] for text, _, _ in rendered(SMALL)}
    few, many = np.asarray(SMALL.test_set(64).tokens), np.asarray(SMALL.test_set(100).tokens)
    np.testing.assert_array_equal(few, many[:64])
    more = dataclasses.replace(SMALL, num_train=1_024)
    np.testing.assert_array_equal(more.train_set().tokens[:512], SMALL.train_set().tokens)
    np.testing.assert_array_equal(more.test_set(64).tokens, few)


def test_no_sentence_is_there_twice():
    sentences = [" ".join(words) for words in SMALL.sentences.words]
    assert len(set(sentences)) == len(sentences) > 3_000


def test_every_update_reads_sentences_of_training_and_an_epoch_reads_all():
    data = SMALL.train_set()
    batches = [SMALL.batch_at(data, step, KEY) for step in range(16)]
    read = np.concatenate([batch.tokens for batch in batches])
    assert {row.tobytes() for row in read} == {row.tobytes() for row in np.asarray(data.tokens)}
    again = jax.jit(SMALL.batch_at)(data, np.int32(3), KEY)
    jax.tree.map(np.testing.assert_array_equal, again, batches[3])
    other = SMALL.batch_at(data, 3, jax.random.key(1))
    assert (np.asarray(other.tokens) != np.asarray(batches[3].tokens)).any()


def test_data_seeds_draw_other_splits_and_places():
    other = dataclasses.replace(SMALL, data_seed=1)
    first, second = ({text for text, _, _ in rendered(task)} for task in (SMALL, other))
    assert len(first & second) < 40


def test_the_control_without_labels_asks_the_same_of_the_bare_sentences():
    bare = dataclasses.replace(SMALL, label="absent")
    assert bare.window_length == SMALL.window_length - 2 * SMALL.answer_length
    for (text, group, answer), (plain, same, label) in zip(
        rendered(SMALL, 100), rendered(bare, 100), strict=True
    ):
        sentence, words = parts_of(plain)[0].split(), parts_of(text)[0].split()[group == 0 :]
        assert (group, answer) == (same, label)
        words.remove(answer.strip())
        assert sentence == words


def test_permuted_labels_are_as_frequent_and_tell_nothing_of_their_sentence():
    permuted = dataclasses.replace(SMALL, label="permuted")
    kept = [label for _, _, label in rendered(permuted)]
    true = [label for _, _, label in rendered(SMALL)]
    same = np.mean([a == b for a, b in zip(kept, true, strict=True)])
    shares = np.unique(true, return_counts=True)[1] / len(true)
    assert same < (shares**2).sum() + 0.1
    assert abs(kept.count(" Psalms") - true.count(" Psalms")) < 40


def used(**change):
    """The small task with changes, after its text has been read."""
    task = dataclasses.replace(SMALL, **change)
    return task, task.vocab_size, task.train_set()


def test_a_model_that_knows_the_answers_has_an_exact_match_of_1():
    """All slots but the masked ones must be right, in the group of the sentence."""
    config = get_config("smoke")
    config.loss.path = "plain"
    settings = build.parse(config)
    spec = build.make_spec(settings)
    task, objective = settings.task, spec.objective
    batch = task.test_set(64)
    right = jax.nn.one_hot(batch.labels, task.vocab_size)
    wrong = jax.nn.one_hot((batch.labels + 1) % task.vocab_size, task.vocab_size)
    slot = np.arange(task.answer_length)[None, :, None]
    for logits, match in (
        (right, 1.0),
        (jnp.where(batch.mask[..., None], right, wrong), 1.0),
        (jnp.where(slot == 0, wrong, right), 0.0),
    ):
        found = objective.base.measure(logits, batch, {})["exact_match"]
        np.testing.assert_array_equal(found.mean, match)
        assert found.num.sum() == 64


def test_sentences_end_where_punctuation_says_so():
    text = "Who is 3.5 ft? I am! 'Go,' he said.  \"Now.\" Then\nhe went\n\nA heading\n\nso. it is"
    assert sentences_of(text) == [
        "Who is 3.5 ft?",
        "I am!",
        "'Go,' he said.",
        '"Now."',
        "Then he went",
        "A heading",
        "so. it is",
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label": "none"}, r"label='none': must be one of \('true', 'absent', 'permuted'\)"),
        ({"easy_fraction": 1.5}, r"easy_fraction=1\.5: must be in \[0, 1\]"),
        ({"num_train": 32 * 10**4}, "num_train=320000: must be at most .*, of .* sentences"),
        ({"max_tokens": 20}, "max_tokens=20: must be more, all sentences are longer"),
        ({"tokenizer": "gpt5"}, "tokenizer='gpt5': gpt5: must be one of gpt2, smollm2, "),
        ({"source": "koran"}, "source='koran': must be one of king_james, shakespeare, tfds:NAME"),
    ],
)
def test_bad_fields_are_named_by_the_task_or_when_it_reads_its_text(change, said):
    with pytest.raises(ValueError, match=f"^{said}"):
        used(**change)
    assert "\n" not in said


def test_more_test_sentences_than_are_left_are_refused_by_the_config():
    config = get_config("smoke")
    config.eval.test = 10**6
    with pytest.raises(ConfigError, match=r"^config\.eval\.test=1000000: must be at most \d+, the"):
        build.checked(build.parse(config))
