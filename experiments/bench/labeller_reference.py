"""The labelling of sentences of a grammar as Liu, Xie, Li, Ma (2023) released it, in plain Python.

Their ``pcfg/generate_downstream.py`` fills a chart for one sentence after the other: a cell is a
list of symbols with inside probabilities, and every pair of two lists goes through the rules whose
right side begins with the first symbol, for those that end with the second. This is
that procedure on tuples, where theirs is on objects of NLTK, which are slower.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

Cell = Mapping[str, float]  # symbol -> inside probability of a span


class RuleTables(NamedTuple):
    """The rules of a grammar by their right sides.

    Attributes:
        pairs: by the first symbol of two, the second, the left side and the probability.
        words: by a word, the left side and the probability.
        starts: what the first symbol may become alone.
    """

    pairs: Mapping[str, Sequence[tuple[str, str, float]]]
    words: Mapping[str, Sequence[tuple[str, float]]]
    starts: Sequence[str]


def tables_of(text: str) -> RuleTables:
    """The rules of a grammar in the released format; S is the first symbol."""
    pairs, words = defaultdict(list), defaultdict(list)
    starts = []
    for left, *right, probability in map(str.split, text.splitlines()):
        if left == "S":
            starts.append(right[0])
        elif len(right) == 2:
            pairs[right[0]].append((right[1], left, float(probability)))
        else:
            words[right[0]].append((left, float(probability)))
    return RuleTables(pairs, words, starts)


def sentence_label(tables: RuleTables, words: Sequence[str]) -> str:
    """The start with the largest inside probability of the whole sentence (task A)."""
    num = len(words)
    chart: dict[tuple[int, int], Cell] = {
        (at, at + 1): _summed(tables.words[word]) for at, word in enumerate(words)
    }
    for width in range(2, num + 1):
        for begin in range(num - width + 1):
            end = begin + width
            chart[begin, end] = _joined(
                tables,
                [(chart[begin, at], chart[at, end]) for at in range(begin + 1, end)],
            )
    whole = chart[0, num]
    return max(tables.starts, key=lambda start: whole.get(start, 0.0))


def _summed(terms: Iterable[tuple[str, float]]) -> Cell:
    """A cell from rules, which a grammar may have more than once: theirs has 242 such lines."""
    cell: dict[str, float] = defaultdict(float)
    for symbol, probability in terms:
        cell[symbol] += probability
    return cell


def _joined(tables: RuleTables, parts: Sequence[tuple[Cell, Cell]]) -> Cell:
    """The cell of a span from the cells of its two parts, wherever it is divided."""
    cell: dict[str, float] = defaultdict(float)
    for left, right in parts:
        for first, p in left.items():
            for second, q in right.items():
                for last, symbol, probability in tables.pairs.get(first, ()):
                    if last == second:
                        cell[symbol] += p * q * probability
    return cell
