"""One world of each name, small enough to write out every sentence."""

from el_jax.worlds import WORLDS

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
}
