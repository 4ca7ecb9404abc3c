"""Bigrams, half of them certain: a loss with a river valley.

Source: the bigram data of Wen et al. 2024, "Understanding warmup-stable-decay learning rates: a
river valley loss landscape perspective" (arXiv 2410.05192); they do not publish its generator; this
one is ours. After half of the words the next one is certain; after the others it is uniform over
half of the vocabulary. In a table of logits, the Hessian of the row of word i is p(i) (diag p - p
p^T). It vanishes as a certain successor is learnt: the flat river, along which progress is slow. It
stays where the successor is uncertain: the steep hills, on which large steps bounce.
"""

import numpy as np

from el_jax.process.errors import require
from el_jax.worlds.hmm import HMM


def bigram_river(*, vocab_size: int = 32, length: int = 16, seed: int = 0) -> HMM:
    """A Markov chain of words, as a hidden Markov model whose states are its words.

    Words ``0 .. V/2 - 1`` have a certain successor each, a random half of the vocabulary in all.
    The other words have the other half as successors, all equally likely. Every word is equally
    frequent at every position, so neither kind is learnt sooner by being seen more often.

    Args:
        vocab_size: V, even.
        length: T.
        seed: draws the successors.

    Raises:
        ValueError: if a number is out of its range.
    """
    even = vocab_size >= 2 and vocab_size % 2 == 0
    require("vocab_size", vocab_size, even, "even and at least 2")
    require("seed", seed, seed >= 0, "at least 0")
    half = vocab_size // 2
    certain, uncertain = np.split(np.random.default_rng(seed).permutation(vocab_size), 2)
    transition = np.zeros((vocab_size, vocab_size))
    transition[np.arange(half), certain] = 1
    transition[half:, uncertain] = 1 / half
    return HMM(np.full(vocab_size, 1 / vocab_size), transition, np.eye(vocab_size), length)
