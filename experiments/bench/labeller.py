"""Sentences of a grammar with labels and conditionals, against the released labeller in Python.

``pcfg/generate_downstream.py`` of Liu, Xie, Li, Ma (2023) fills a chart for one sentence after the
other: a cell is a list of symbols with inside probabilities, and every pair of two lists goes
through the rules whose right side begins with the first symbol, for those that end with the second.
Here is that procedure on tuples, where theirs is on objects of NLTK, which are slower.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import jax
import numpy as np

from el_jax.worlds.pcfg import TreeGrammar, tree_grammar
from experiments.bench.paired import Benchmark, Case, DisagreementError, Values

Cell = Mapping[str, float]  # symbol -> inside probability of a span


class RuleTables(NamedTuple):
    """The rules of a grammar by their right sides; ``starts`` is what S may become alone."""

    pairs: Mapping[str, Sequence[tuple[str, str, float]]]  # first -> second, left, probability
    words: Mapping[str, Sequence[tuple[str, float]]]  # word -> left, probability
    starts: Sequence[str]


def measure(case: Case, at_once: int, times: int, theirs: int, rounds: int) -> Values:
    """Time of a sentence, the reference's over ours.

    A round of ours draws new sentences, all their masked conditionals and all labels; one of the
    reference has one label of some of these sentences.

    Raises:
        DisagreementError: names the sentence.
    """
    world = tree_grammar(depth=case["depth"])
    tables = tables_of(text_of(world))
    made = jax.jit(lambda key: _all_of(world, key, at_once))
    jax.block_until_ready(made(jax.random.key(0)))
    of_ours, of_theirs = np.empty(rounds), np.empty(rounds)
    for i in range(rounds):
        start = time.perf_counter()
        for key in jax.random.split(jax.random.key(1 + i), times):
            tokens, labels, _ = jax.block_until_ready(made(key))
        of_ours[i] = (time.perf_counter() - start) / (at_once * times)
        sentences = [[f"w{token}" for token in row] for row in np.asarray(tokens[:theirs])]
        start = time.perf_counter()
        found = [sentence_label(tables, words) for words in sentences]
        of_theirs[i] = (time.perf_counter() - start) / theirs
        for words, label, other in zip(sentences, np.asarray(labels), found, strict=False):
            if f"S{label}" != other:
                raise DisagreementError(f"{' '.join(words)!r}: we S{label}, reference {other}")
    return {
        "labels in Python / sentences, conditionals and labels": of_theirs / of_ours,
        "ours, ms a sentence": 1e3 * of_ours,
        "reference, ms a sentence": 1e3 * of_theirs,
    }


def _all_of(world: TreeGrammar, key: jax.Array, num: int) -> tuple[jax.Array, ...]:
    """New sentences, the label of task A, and the conditionals of every word."""
    sentences = world.sample(key, num)
    labels = world.labels(sentences)["sentence"]
    return sentences.tokens, labels, world.log_conditionals(sentences.tokens)


def text_of(world: TreeGrammar) -> str:
    """The rules of a grammar in the released format; symbol i of level l is ``A{l}_{i}``."""
    lines = [f"S S{i} {p}" for i, p in enumerate(world.root)]
    names = [f"S{i}" for i in range(len(world.root))]
    for level, table in enumerate((world.root_rules, *world.rules), 1):
        below = [f"A{level}_{i}" for i in range(table.shape[-1])]
        lines += [
            f"{names[left]} {below[first]} {below[second]} {table[left, first, second]}"
            for left, first, second in np.argwhere(table)
        ]
        names = below
    lines += [
        f"{names[left]} w{word} {world.words[left, word]}"
        for left, word in np.argwhere(world.words)
    ]
    return "\n".join(lines)


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
            parts = [(chart[begin, at], chart[at, end]) for at in range(begin + 1, end)]
            chart[begin, end] = _joined(tables, parts)
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


BENCHMARK = Benchmark(
    measure,
    {
        "smoke": ({"tiny": {"depth": 3}}, 8, 2, 2, 1),
        "cpu": ({"PCFG of 32 words": {"depth": 5}}, 256, 32, 20, 9),  # the paper's length
        "gpu": ({"PCFG of 32 words": {"depth": 5}}, 65_536, 2, 20, 9),
    },
    one_core=True,
)
