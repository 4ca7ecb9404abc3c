"""Text as windows of tokens: running text, and sentences with their labels."""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int

from el_jax.process.errors import require
from el_jax.tokenizers import Tokenizer, token_ids
from el_jax.types import Batch

ARROW = " ->"  # before the answer


class LabelledSentence(NamedTuple):
    """A sentence and its label.

    Attributes:
        words: words of the sentence.
        label: number of the label.
        easy: the label also stands at the start.
        middle: number of words before the middle label.
    """

    words: list[str]
    label: int
    easy: bool
    middle: int


class TextWindows(NamedTuple):
    """Windows with the fields of a ``Batch``, in host memory."""

    tokens: Int[np.ndarray, "S T"]
    supervised: Int[np.ndarray, "S P"]
    labels: Int[np.ndarray, "S P"]
    mask: Bool[np.ndarray, "S P"]
    groups: Int[np.ndarray, "S P"]


def reading_windows(tokens: Int[np.ndarray, " n"], length: int) -> Batch:
    """Cut running text into consecutive windows, supervised in their second half.

    Every target therefore has at least ``length / 2`` tokens before it.

    Args:
        tokens: the text; tokens that do not fill a window are left out.
        length: T, tokens of a window.

    Raises:
        ValueError: the text is shorter than a window and the next token.
    """
    require("tokens of the text", len(tokens), len(tokens) > length, f"more than {length}")
    rows = jnp.asarray(tokens[: len(tokens) // (length + 1) * (length + 1)], jnp.int32)
    rows = rows.reshape(-1, length + 1)
    asked = jnp.broadcast_to(jnp.arange(length // 2, length), (len(rows), length - length // 2))
    none = jnp.zeros_like(asked)
    return Batch(rows[:, :-1], asked, rows[:, 1 + length // 2 :], asked >= 0, none)


def windows_of(
    sentences: Sequence[LabelledSentence],
    names: Sequence[str],
    tokenizer: Tokenizer,
    max_tokens: int,
    *,
    separator: str,
    shown: bool,
) -> TextWindows:
    """A window for each sentence that is short enough, padded to one length.

    Args:
        sentences: sentences in order.
        names: the word of each label.
        tokenizer: tokenises the words, each with the space before it.
        max_tokens: sentences that would have more with the longest label in each of the three
            positions are left out, even if labels are not shown.
        separator: the token before a sentence, and the padding after it.
        shown: insert the labels into the sentences; they are always supervised.

    Returns:
        The windows, with as many slots as the longest label has tokens; unused slots are masked.
        Groups are 0 for easy sentences and 1 for hard ones.

    Raises:
        ValueError: no sentence is short enough.
    """
    end = tokenizer.token_to_id(separator)
    assert end is not None  # the task rejects such a tokenizer
    before = token_ids(tokenizer, [" " + " ".join(s.words[: s.middle]) for s in sentences])
    after = token_ids(tokenizer, [" " + " ".join(s.words[s.middle :]) for s in sentences])
    *answers, arrow = token_ids(tokenizer, [*(f" {name}" for name in names), ARROW])
    slots = max(map(len, answers))
    room = max_tokens - 1 - len(arrow) - 3 * slots
    kept = [
        (words, others, sentence.easy, answers[sentence.label])
        for sentence, words, others in zip(sentences, before, after, strict=True)
        if len(words) + len(others) <= room
    ]
    if not kept:
        raise ValueError(f"max_tokens={max_tokens}: must be more, all sentences are longer")
    longest = max(len(words) + len(others) for words, others, _, _ in kept)
    length = 1 + longest + len(arrow) + (3 if shown else 1) * slots
    tokens = np.full((len(kept), length), end, np.int32)
    labels = np.zeros((len(kept), slots), np.int32)
    mask = np.zeros(labels.shape, bool)
    starts = np.zeros(len(kept), np.int32)
    for row, (words, others, easy, answer) in enumerate(kept):
        first, second = (answer if shown and there else [] for there in (easy, True))
        asked = [end, *first, *words, *second, *others, *arrow]
        tokens[row, : len(asked) + len(answer)] = asked + answer
        labels[row, : len(answer)] = answer
        mask[row, : len(answer)] = True
        starts[row] = len(asked) - 1
    hard = np.array([not easy for _, _, easy, _ in kept], np.int32)
    return TextWindows(
        tokens=tokens,
        supervised=starts[:, None] + np.arange(slots, dtype=np.int32),
        labels=labels,
        mask=mask,
        groups=np.repeat(hard[:, None], slots, axis=1),
    )
