"""Grammars written as text, one rule a line, in the format that Liu, Xie, Li and Ma published.

A line holds a left side, one or two symbols, and a probability, separated by blanks:

    S S1 0.27          a sentence may start from S1
    S1 A1_1 A1_3 1.0   S1 becomes A1_1 A1_3
    A1_0 korean 0.19   A1_0 becomes a word: korean is the left side of no rule

The left side of the first line is the start. Repeated rules add up. Their published grammar
(github.com/Liuhong99/implicitbiasmlmcode, pcfg/rule_deep_mlm.txt) is not the paper's: it has
sentences of 2 to 16 words and, with one masked token each, an entropy of 4.450 ± .005 nats over
tokens, or 4.18 ± .01 with every sentence counted once (8,000 sentences); the paper says 3.196. Of
its 1,649 lines, 242 repeat a rule.
"""

import pathlib
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from el_jax.process.errors import require
from el_jax.worlds.chart import ChartGrammar

# Printed probabilities are rounded; larger deviations of a symbol's sum are mistakes.
_SUM_TOLERANCE = 0.01


class Rule(NamedTuple):
    """One line of a grammar."""

    place: str
    left: str
    right: tuple[str, ...]
    probability: float


def read_grammar(*, path: str, length: int = 16) -> ChartGrammar:
    """Read a grammar from a file.

    Args:
        path: the file, UTF-8.
        length: T, the most words of a sentence; the world leaves longer ones out.

    Raises:
        OSError: if the file cannot be read.
        ValueError: it is not UTF-8, or see :func:`parse_grammar`; the message begins with the file
            and the line.
    """
    file = pathlib.Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")  # Windows puts a mark before the text
    except UnicodeDecodeError as error:
        raise ValueError(f"{file.name}: must be UTF-8 ({error})") from error
    return parse_grammar(text, length=length, name=file.name)


def parse_grammar(text: str, *, length: int, name: str = "grammar") -> ChartGrammar:
    """Read a grammar from text; symbols and words are numbered in alphabetical order.

    The probabilities of a left side are divided by their sum.

    Args:
        text: the lines; empty ones are skipped.
        length: T, the most words of a sentence; the world leaves longer ones out.
        name: name of the text, for messages.

    Raises:
        ValueError: if there is no rule, a line is not a rule, the probabilities of a symbol do not
            sum to 1 within 0.01, a pair has a symbol without rules, a symbol other than the start
            becomes a single non-terminal, or no sentence has at most T words.
    """
    require("length", length, length >= 1, "at least 1")
    lines = enumerate(text.splitlines(), 1)
    rules = [_rule(f"{name}:{number}", line) for number, line in lines if line.strip()]
    if not rules:
        raise ValueError(f"{name}: no rules: must have at least one line LEFT RIGHT PROBABILITY")
    totals = _totals(name, rules)
    start = rules[0].left
    chain = [rule for rule in rules if len(rule.right) == 1 and rule.right[0] in totals]
    _check(rules, chain, totals, start)
    # if sentences start only from other symbols, the start itself is not a symbol
    only_chains = all(rule in chain for rule in rules if rule.left == start)
    symbols = tuple(sorted(totals.keys() - ({start} if only_chains else set())))
    vocabulary = tuple(sorted({r.right[0] for r in rules if len(r.right) == 1} - totals.keys()))
    grammar = _tables(rules, chain, totals, start, symbols, vocabulary, length)
    mass = float(np.sum(grammar.length_law()))
    if not mass > 0:
        raise ValueError(
            f"length={length}: must be that of some sentence of {name}; none is so short"
        )
    return grammar


def _rule(place: str, line: str) -> Rule:
    left, *right, number = line.split() if len(line.split()) > 1 else (line, "")
    if not 1 <= len(right) <= 2:
        raise ValueError(f"{place}: {line.strip()!r}: must be LEFT RIGHT [RIGHT] PROBABILITY")
    try:
        probability = float(number)
    except ValueError:
        probability = -1.0
    if not 0 <= probability <= 1:
        raise ValueError(f"{place}: probability={number!r}: must be a number in [0, 1]")
    return Rule(place, left, tuple(right), probability)


def _totals(name: str, rules: list[Rule]) -> dict[str, float]:
    """Sum of the probabilities of each left side."""
    totals: dict[str, float] = {}
    for rule in rules:
        totals[rule.left] = totals.get(rule.left, 0.0) + rule.probability
    for symbol, total in totals.items():
        if abs(total - 1) > _SUM_TOLERANCE:
            raise ValueError(f"{name}: rules of {symbol} sum to {total:.6g}: must sum to 1")
    return totals


def _check(rules: list[Rule], chain: list[Rule], totals: dict[str, float], start: str) -> None:
    for rule in rules:
        for symbol in rule.right if len(rule.right) == 2 else ():
            if symbol not in totals:
                raise ValueError(
                    f"{rule.place}: symbol={symbol!r}: must be the left side of a rule"
                )
            if symbol == start and chain:
                raise ValueError(
                    f"{rule.place}: symbol={symbol!r}: must not be the start, which becomes "
                    "single non-terminals"
                )
    for rule in chain:
        if rule.left != start or rule.right == (start,):
            raise ValueError(
                f"{rule.place}: symbol={rule.right[0]!r}: must be a word or one of two; only the "
                f"start {start} becomes a single other non-terminal"
            )


def _tables(
    rules: list[Rule],
    chain: list[Rule],
    totals: dict[str, float],
    start: str,
    symbols: tuple[str, ...],
    vocabulary: tuple[str, ...],
    length: int,
) -> ChartGrammar:
    symbol, word = ({name: i for i, name in enumerate(names)} for names in (symbols, vocabulary))
    root = np.zeros(len(symbols))
    pairs = np.zeros((len(symbols),) * 3)
    words = np.zeros((len(symbols), len(vocabulary)))
    for rule in rules:
        if rule in chain:
            root[symbol[rule.right[0]]] += rule.probability / totals[start]
        elif len(rule.right) == 2:
            first, second = rule.right
            pairs[symbol[rule.left], symbol[first], symbol[second]] += rule.probability
        else:
            words[symbol[rule.left], word[rule.right[0]]] += rule.probability
    if start in symbol:
        root[symbol[start]] = 1 - root.sum()
    outcomes: Float[np.ndarray, "K"] = pairs.sum(axis=(1, 2)) + words.sum(axis=1)
    return ChartGrammar(
        root,
        pairs / outcomes[:, None, None],
        words / outcomes[:, None],
        length,
        symbols,
        vocabulary,
    )
