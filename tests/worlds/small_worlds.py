"""One world of each name, small enough to write out every sentence."""

import jax
import numpy as np

from el_jax.models import LookupTableConfig, lookup_table
from el_jax.worlds import WORLDS, parse_grammar, restricted_model

GRAMMAR = """
S S1 0.6
S S2 0.4
S1 A A 1.0
S2 A B 0.7
S2 S1 A 0.3
A A B 0.1
A A B 0.2
A x 0.4
A y 0.3
B B A 0.25
B y 0.5
B z 0.25
"""

TABLE = lookup_table(LookupTableConfig(vocab_size=5, order=3))


def random_logits():
    """Parameters of the table, every context with a law of its own."""
    shapes = jax.eval_shape(TABLE.init, jax.random.key(0))
    return jax.tree.map(lambda leaf: np.random.default_rng(0).normal(size=leaf.shape), shapes)


SMALL = {
    "hmm": WORLDS["hmm"](vocab_size=4, num_states=6, length=4, num_blocks=2, seed=1),
    "pcfg": WORLDS["pcfg"](
        depth=2,
        symbols_per_level=3,
        vocab_size=4,
        rules_per_symbol=4,
        words_per_symbol=3,
        num_roots=3,
    ),
    "random_hierarchy": WORLDS["random_hierarchy"](
        depth=2, vocab_size=3, rules_per_symbol=2, num_classes=3, seed=1
    ),
    "grammar_file": parse_grammar(GRAMMAR, length=4),
    "dyck": WORLDS["dyck"](length=4),
    "bigram_river": WORLDS["bigram_river"](vocab_size=4, length=4),
    "mess3": WORLDS["mess3"](length=4),
    "rrxor": WORLDS["rrxor"](length=5),
    "periodic": WORLDS["periodic"](vocab_size=3, length=5, least_period=2, most_period=4),
    "language_model": restricted_model(
        TABLE.apply, random_logits(), np.array([3, 9, 4, 4, 8]), num_words=3, begin=4, length=4
    ),
}
