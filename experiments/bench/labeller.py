"""Sentences of a grammar with labels and conditionals, against the released labeller."""

import time
from collections.abc import Iterator
from typing import NamedTuple

import jax
import numpy as np

from el_jax.worlds.pcfg import TreeGrammar, tree_grammar
from experiments.bench.labeller_reference import sentence_label, tables_of
from experiments.bench.measurement import Measurement

RATIO = "labels in Python / sentences, conditionals and labels"


class Plan(NamedTuple):
    """Depth of the grammar, and what a round has.

    Attributes:
        depth: of the grammar.
        at_once: sentences that ours makes at once, as an update of a training does.
        times: how often it does.
        theirs: sentences that the reference labels.
        rounds: number of rounds.
    """

    depth: int
    at_once: int
    times: int
    theirs: int
    rounds: int


PLANS = {
    "smoke": Plan(3, 8, 2, 2, 1),
    "cpu": Plan(5, 256, 32, 20, 9),  # the paper's sentences of 32 words
    "gpu": Plan(5, 65536, 2, 20, 9),
}


class DisagreementError(RuntimeError):
    """The two sides label a sentence differently."""


def measure(plan: Plan) -> Iterator[Measurement]:
    """Time of a sentence, the reference's over ours.

    A round of ours draws new sentences, all their masked conditionals and all labels; one of the
    reference has one label of some of these sentences.

    Raises:
        DisagreementError: names the sentence.
    """
    world = tree_grammar(depth=plan.depth)
    tables = tables_of(text_of(world))
    made = jax.jit(lambda key: _all_of(world, key, plan.at_once))
    jax.block_until_ready(made(jax.random.key(0)))
    ours, theirs = np.empty(plan.rounds), np.empty(plan.rounds)
    for i in range(plan.rounds):
        start = time.perf_counter()
        for key in jax.random.split(jax.random.key(1 + i), plan.times):
            tokens, labels, _ = jax.block_until_ready(made(key))
        ours[i] = (time.perf_counter() - start) / (plan.at_once * plan.times)
        sentences = [[f"w{token}" for token in row] for row in np.asarray(tokens[: plan.theirs])]
        start = time.perf_counter()
        found = [sentence_label(tables, words) for words in sentences]
        theirs[i] = (time.perf_counter() - start) / plan.theirs
        check_agreement(sentences, np.asarray(labels), found)
    yield Measurement(
        f"PCFG of {world.length} words",
        {RATIO: theirs / ours, "ours, ms a sentence": 1e3 * ours,
         "reference, ms a sentence": 1e3 * theirs},
    )  # fmt: skip


def _all_of(world: TreeGrammar, key: jax.Array, num: int) -> tuple[jax.Array, ...]:
    """New sentences, the label of task A, and the conditionals of every word."""
    sentences = world.sample(key, num)
    labels = world.labels(sentences)["sentence"]
    return sentences.tokens, labels, world.log_conditionals(sentences.tokens)


def check_agreement(sentences: list[list[str]], ours: np.ndarray, theirs: list[str]) -> None:
    """Check that both sides give the same label of every sentence that both have.

    Raises:
        DisagreementError: names the sentence and both labels.
    """
    for words, label, other in zip(sentences, ours, theirs, strict=False):
        if f"S{label}" != other:
            raise DisagreementError(f"{' '.join(words)!r}: we S{label}, reference {other}")


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
    return "\n".join(
        lines + [f"{names[left]} w{word} {world.words[left, word]}"
                 for left, word in np.argwhere(world.words)]
    )  # fmt: skip
