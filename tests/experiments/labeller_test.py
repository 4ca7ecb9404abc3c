"""The labeller in plain Python, on a grammar that writes some rules more than once."""

import numpy as np
import pytest

from el_jax.worlds import parse_grammar
from experiments.bench.labeller import sentence_label, tables_of

# A word x is of A with .5 = .3 + .2, of B with .4: the last line of A alone would make it B's.
REPEATED = """S P 0.5
S Q 0.5
P A A 0.4
P A A 0.6
Q B B 1.0
A x 0.3
A y 0.5
A x 0.2
B x 0.4
B y 0.6
"""


@pytest.mark.parametrize(("words", "label"), [("x x", "P"), ("y y", "Q"), ("x y", "P")])
def test_rules_that_are_written_twice_add_up(words, label):
    assert sentence_label(tables_of(REPEATED), words.split()) == label
    world = parse_grammar(REPEATED, length=2)
    tokens = np.array([[world.vocabulary.index(word) for word in words.split()]])
    (ours,) = np.asarray(world.log_posteriors(tokens)["sentence"]).argmax(1)
    assert world.symbols[ours] == label
