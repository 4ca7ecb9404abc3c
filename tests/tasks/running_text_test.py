"""Windows of a user's text: their supervised positions, the test part, and mistakes."""

import jax
import numpy as np
import pytest

from configs.text import get_config
from el_jax import build
from el_jax.process.errors import DataError
from el_jax.tasks import RunningText
from el_jax.tokenizers import word_tokenizer
from el_jax.training.fit import fit
from el_jax.training.sinks import History

pytest.importorskip("tokenizers")
WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "dog", "ate", "bone", "under", "oak"]


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        (tmp_path / f"{name}.txt").write_text(" ".join(rng.choice(WORDS, 600)) + ".")
    return tmp_path


@pytest.fixture
def task(folder):
    return RunningText(source=str(folder), trained_size=300, window=16, windows_per_update=4)


def test_every_token_of_a_window_is_asked_for_the_next_one(task):
    batch = task.batch_at(task.train_set(), 3, jax.random.key(0))
    assert batch.tokens.shape == batch.labels.shape == (4, 16)
    np.testing.assert_array_equal(batch.tokens[:, 1:], batch.labels[:, :-1])
    assert batch.mask.all()
    text = np.asarray(task.train_set().ids).tobytes()
    assert all(np.asarray(row).tobytes() in text for row in batch.tokens)
    again = task.batch_at(task.train_set(), 4, jax.random.key(0))
    assert not np.array_equal(batch.tokens, again.tokens)


def test_no_token_is_trained_on_and_tested(task, folder):
    train, test = task._parts()
    texts = [(folder / f"{name}.txt").read_text() for name in ("one", "two")]
    end = "<|endoftext|>"
    assert task.render(np.concatenate([train, test])) == "".join(text + end for text in texts)
    np.testing.assert_array_equal(task.train_set().ids, train)
    np.testing.assert_array_equal(task.test_set(5).tokens.ravel(), test[: 5 * 16])
    assert len(test) == pytest.approx(0.1 * (len(train) + len(test)), abs=1)


def test_the_training_text_is_measured_on_windows_all_over_it(task):
    batch = task.pack(task.train_set())
    ids = np.asarray(task.train_set().ids)
    np.testing.assert_array_equal(batch.tokens[0], ids[:16])
    np.testing.assert_array_equal(batch.labels[-1], ids[-16:])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": "no_such_folder"}, "source='no_such_folder': must be one of"),
        ({"window": 10_000}, "window=10000: must be at most .*, the tokens of the shorter part"),
        ({"tokenizer": "gpt9"}, "tokenizer='gpt9': gpt9: "),
    ],
)
def test_a_mistake_is_one_line(folder, changes, message):
    with pytest.raises(ValueError, match=message):
        used(**{"source": str(folder), "trained_size": 300, "window": 16} | changes)


def test_a_text_too_short_for_any_window_is_refused_as_such(tmp_path):
    file = tmp_path / "short.txt"
    file.write_text("Hi.")
    with pytest.raises(ValueError, match=r"^source='.*short.txt': must be longer than \d tokens"):
        used(source=str(file), window=1)


def used(**fields):
    """A task whose text has been read."""
    task = RunningText(**fields)
    return task, task.vocab_size, task.train_set()


def test_a_vocabulary_that_leaves_ids_out_has_a_class_for_its_largest(folder):
    ids = {word: 3 * i for i, word in enumerate([*WORDS, "?"])}
    library = pytest.importorskip("tokenizers")
    tokenizer = library.Tokenizer(library.models.WordLevel(ids, unk_token="?"))
    tokenizer.pre_tokenizer = library.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    task = RunningText(source=str(folder), tokenizer=str(folder), window=16)
    assert task.vocab_size == 37 > task.train_set().ids.max()


def test_words_that_the_tokenizer_lacks_are_refused_in_one_line(folder):
    word_tokenizer(["a", "b"]).save(str(folder / "tokenizer.json"))
    with pytest.raises(DataError, match=r"^tokenizer: must have every word .* such as a b \("):
        used(source=str(folder), tokenizer=str(folder), window=16)


def test_too_many_test_windows_are_refused(task):
    with pytest.raises(ValueError, match=r"must be at most \d+, the test windows of 16 tokens"):
        task.test_set(10_000)


def test_perplexity_is_measured(folder):
    config = get_config(f"source={folder},smoke")
    config.task.test_share, config.eval.test = 0.4, 8
    history = History()
    fit(build.build(build.parse(config)), sinks=[history])
    _, perplexity = history.curve("test_perplexity")
    np.testing.assert_allclose(perplexity, np.exp(history.curve("test_ce")[1]))
    assert perplexity[-1] < perplexity[0] < 400
