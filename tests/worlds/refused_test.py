"""What no world can be made of, and what no world can answer, is refused in one line."""

import dataclasses
import re

import jax
import numpy as np
import pytest

from el_jax.worlds import (
    HMM,
    WORLDS,
    Dyck,
    TreeGrammar,
    entropy_floor,
    every_masked_context,
    every_sentence,
    restricted_model,
)
from el_jax.worlds.world import check_rows
from tests.worlds.small_worlds import SMALL, TABLE

KEY = jax.random.key(0)


def language_model(**numbers):
    counts = np.array([3, 9, 4, 0, 8])
    return restricted_model(
        TABLE.apply, {}, counts, **{"num_words": 3, "begin": 4, "length": 4} | numbers
    )


NUMBERS = [  # world, numbers, what is said of them
    ("hmm", {"num_blocks": 0}, "num_blocks=0: must be at least 1"),
    ("hmm", {"vocab_size": 30}, "vocab_size=30: must be a positive multiple of num_blocks=4"),
    ("hmm", {"num_states": 2}, "num_states=2: must be a positive multiple of num_blocks=4"),
    ("hmm", {"concentration": 0.0}, "concentration=0.0: must be above 0"),
    ("hmm", {"length": 0}, "length=0: must be at least 1"),
    ("hmm", {"seed": -1}, "seed=-1: must be at least 0"),
    ("pcfg", {"depth": 0}, "depth=0: must be in 1..16"),
    ("pcfg", {"rules_per_symbol": 101}, "rules_per_symbol=101: must be in 1..100"),
    ("pcfg", {"words_per_symbol": 0}, "words_per_symbol=0: must be in 1..200"),
    ("pcfg", {"num_roots": 101}, "num_roots=101: must be in 1..100"),
    ("pcfg", {"seed": -1}, "seed=-1: must be at least 0"),
    ("random_hierarchy", {"depth": 0}, "depth=0: must be in 1..16"),
    ("random_hierarchy", {"rules_per_symbol": 9}, "rules_per_symbol=9: must be in 1..8"),
    ("random_hierarchy", {"num_classes": 17}, "num_classes=17: must be in 1..16"),
    ("random_hierarchy", {"vocab_size": 0}, "vocab_size=0: must be in 1..1024"),
    ("bigram_river", {"vocab_size": 5}, "vocab_size=5: must be even"),
    ("bigram_river", {"vocab_size": 0}, "vocab_size=0: must be even"),
    ("bigram_river", {"length": 0}, "length=0: must be at"),
    ("bigram_river", {"seed": -1}, "seed=-1: must be at"),
    ("mess3", {"alpha": 1.1}, "alpha=1.1: must be in"),
    ("mess3", {"x": 0.6}, "x=0.6: must be in"),
    ("periodic", {"least_period": 0}, "least_period=0: must be at least 1"),
    ("periodic", {"length": 9}, "most_period=10: must be in least_period=6..length=9"),
    ("periodic", {"vocab_size": 0}, "vocab_size=0: must be at least 1"),
    ("dyck", {"length": 0}, "length=0: must be even and at least 2"),
    ("dyck", {"length": 5}, "length=5: must be even and at least 2"),
    ("language_model", {"num_words": 4}, "num_words=4: must be in 1..3, the tokens that occur"),
    ("language_model", {"num_words": 0}, "num_words=0: must be in 1..3"),
    ("language_model", {"length": 0}, "length=0: must be at least 1"),
]


@pytest.mark.parametrize(("name", "numbers", "message"), NUMBERS)
def test_a_bad_number_is_named(name, numbers, message):
    make = WORLDS | {"language_model": language_model}
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        make[name](**numbers)


HALF = np.full((2, 2), 0.5)
PCFG = SMALL["pcfg"]
TABLES = {  # what is said, of a call
    "table[1] sums to 1.1 ": lambda: rows([[0.5, 0.5], [0.5, 0.6]]),
    "table[1] sums to 1 with least entry -0.5: must be": lambda: rows([[0.5, 0.5], [1.5, -0.5]]),
    "table[0] sums to nan": lambda: rows([[np.nan, 1], [0.5, 0.5]]),
    "table.shape=(2, 1): must be (2, 2)": lambda: rows([[1.0], [1.0]]),
    "transition[1] sums to 1.4": lambda: HMM(HALF[0], HALF * [[1], [1.4]], HALF, length=3),
    "emission.ndim=1: must be 2": lambda: HMM(HALF[0], HALF, HALF[0], length=3),
    "rules[0, 0] sums to 2 ": lambda: TreeGrammar(
        PCFG.root, PCFG.root_rules, PCFG.rules * 2, PCFG.words
    ),
    "distinct words=1: must be all of 3": lambda: dataclasses.replace(
        language_model(), words=np.array([1, 1, 1])
    ),
}


def rows(table):
    check_rows("table", np.array(table), (2, 2))


@pytest.mark.parametrize("message", TABLES)
def test_a_bad_table_is_named(message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        TABLES[message]()


CALLS = [
    (lambda: SMALL["hmm"].sample(KEY, -1), "num=-1: must be at least 0"),
    (lambda: entropy_floor(SMALL["hmm"], KEY, 1), "num=1: must be at least 2"),
    (
        lambda: every_sentence(WORLDS["hmm"]()),
        "sentences=6553.*: must be at most 1048576",
    ),
    (lambda: every_masked_context(SMALL["grammar_file"]), r"number of lengths=\d: must be 1"),
    (lambda: Dyck(22).masked_inputs(), "length=22: must be at most 20"),
    (lambda: Dyck(22).downstream_inputs(), "length=22: must be at most 20"),
]


@pytest.mark.parametrize(("call", "message"), CALLS)
def test_what_cannot_be_answered_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    "name", ["hmm", "pcfg", "grammar_file", "dyck", "periodic", "language_model"]
)
def test_a_token_that_is_no_word_is_refused_and_not_taken_for_another(name):
    world = SMALL[name]
    tokens = np.zeros((1, world.length), np.int32)
    tokens[0, 0] = world.vocab_size  # the begin token of a causal task
    with pytest.raises(ValueError, match=f"token {world.vocab_size}: must be in .* the words of"):
        world.log_next(tokens)


@pytest.mark.parametrize("name", ["pcfg", "dyck", "periodic", "language_model"])
@pytest.mark.parametrize("method", ["log_probability", "log_conditionals"])
def test_part_of_a_sentence_is_refused_and_not_taken_for_another_sentence(name, method):
    world = SMALL[name]
    of = getattr(world, method)
    part = np.zeros((world.length, world.length - 1), np.int32)  # as many words as three sentences
    with pytest.raises(ValueError, match=f"words of a sentence={world.length - 1}: must be"):
        of(part)
