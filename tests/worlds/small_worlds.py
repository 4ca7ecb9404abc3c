"""One world of each name, small enough to write out every sentence."""

from el_jax.worlds import WORLDS

SMALL = {
    "hmm": WORLDS["hmm"](vocab_size=4, num_states=6, length=4, num_blocks=2, seed=1),
}
