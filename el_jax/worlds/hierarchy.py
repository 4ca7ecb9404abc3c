"""The random hierarchy model: classes that are encoded in a hierarchy of synonyms.

Source: Cagnetta, Petrini, Tomasini, Favero, Wyart 2024, "How deep neural networks learn
compositional data: the random hierarchy model" (arXiv 2307.02129). A class becomes a pair of
symbols, each symbol a pair of symbols of the level below, L times, by one of m rules that are
equally likely; the symbols of the last level are the words. No pair belongs to two symbols, so a
sentence has one class, and the m pairs of a symbol are synonyms: exchanging one for another does
not change the class. A deep network learns the class from about C m^L sentences, C the number of
classes.
"""

import numpy as np

from el_jax.process.errors import require
from el_jax.worlds.pcfg import TreeGrammar


def random_hierarchy(
    *,
    depth: int = 3,
    vocab_size: int = 8,
    rules_per_symbol: int = 4,
    num_classes: int = 8,
    seed: int = 0,
) -> TreeGrammar:
    """A random hierarchy; the class is the label ``sentence``.

    Args:
        depth: L; a sentence has 2^L words.
        vocab_size: V, words, and symbols of each level (the paper's v).
        rules_per_symbol: m, at most V, since the V m pairs of a level all differ.
        num_classes: C, with C m at most V².
        seed: draws the rules.

    Raises:
        ValueError: if a number is out of its range.
    """
    pairs = vocab_size**2
    for name, value, largest in (
        ("depth", depth, 16),
        ("vocab_size", vocab_size, 2**10),
        ("rules_per_symbol", rules_per_symbol, vocab_size),
        ("num_classes", num_classes, pairs // rules_per_symbol if rules_per_symbol > 0 else pairs),
    ):
        require(name, value, 1 <= value <= largest, f"in 1..{largest}")
    require("seed", seed, seed >= 0, "at least 0")
    rng = np.random.default_rng(seed)

    def rules(symbols: int) -> np.ndarray:
        """Distributions over pairs: m equally likely ones per symbol, none shared by two."""
        law = np.zeros((symbols, pairs))
        chosen = rng.permutation(pairs)[: symbols * rules_per_symbol].reshape(symbols, -1)
        np.put_along_axis(law, chosen, 1 / rules_per_symbol, axis=1)
        return law.reshape(symbols, vocab_size, vocab_size)

    root_rules = rules(num_classes)
    levels = [rules(vocab_size) for _ in range(depth - 1)]
    below = np.stack(levels) if levels else np.zeros((0, *(vocab_size,) * 3))
    root = np.full(num_classes, 1 / num_classes)
    return TreeGrammar(root, root_rules, below, np.eye(vocab_size))
