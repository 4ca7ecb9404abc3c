"""Probabilistic grammars whose trees are full and binary: levels of non-terminals, one length.

The root expands into two symbols of level 1, each symbol of level l into two of level l + 1, and
each symbol of the last level D into a word, so a sentence has 2^D words and its tree needs no
search. Source of the setting: Liu, Xie, Li, Ma 2023 (arXiv 2210.14199), section 3: 200 words, 50
non-terminals, depth 6, 32 words, entropy 3.196 nats. The paper's rules are not published; five
levels of ten symbols with 3 rules and 22 words each come near that entropy.

Exact conditionals: the probability of a sentence is linear in each word's vector of emission
probabilities φ_t [K], so p(x_t = v | x_-t) is proportional to Σ_k (dp/dφ_t)_k p(v | k). One inside
pass and one vector-Jacobian product give all positions.
"""

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from el_jax.process.errors import require
from el_jax.types import Key
from el_jax.worlds.world import (
    Sentences,
    Tokens,
    categorical,
    categorical_of,
    certain,
    check_rows,
    check_sentences,
    columns_of,
    cumulative,
    draw_each,
    most_probable,
    with_known_tables,
)


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=("root", "root_rules", "rules", "words"),
    meta_fields=(),
)
@dataclass(frozen=True, eq=False)
class TreeGrammar:
    """A grammar of full binary trees with D levels of K symbols below the root.

    Each label is the symbol with the largest inside probability p(span | symbol), the first in case
    of ties: ``sentence``, the one of the R roots that spans all words; ``prefix_w``, the symbol
    that spans the first w words, for w = 2, 4, .. 2^(D-1). In the released code the paper's tasks
    A, B and C are ``sentence``, ``prefix_4`` and ``prefix_2``, but with 50 classes each: there a
    span may have any non-terminal, here only those of its level, which gives 9 and 10 at the
    published size.

    Attributes:
        root: distribution of the root, ``[R]``.
        root_rules: distribution of the pair of level-1 symbols of each root, ``[R, K, K]``.
        rules: that of the pair below each symbol of levels 1 .. D-1, ``[D-1, K, K, K]``.
        words: distribution of the word of each symbol of level D, ``[K, V]``.

    Raises:
        ValueError: if shapes disagree or a row is not a distribution.
    """

    root: Any
    root_rules: Any
    rules: Any
    words: Any

    def __post_init__(self) -> None:
        if with_known_tables(self, "root", "root_rules", "rules", "words"):
            require("words.ndim", self.words.ndim, self.words.ndim == 2, "2")
            symbols, vocab_size = self.words.shape
            check_rows("words", self.words, (symbols, vocab_size))
            check_rows("root", self.root, (len(self.root),))
            pairs = (symbols, symbols)
            check_rows("root_rules", self.root_rules, (len(self.root), *pairs), axes=2)
            check_rows("rules", self.rules, (len(self.rules), symbols, *pairs), axes=2)

    @property
    def vocab_size(self) -> int:
        """Number of words, ``V``."""
        return self.words.shape[1]

    @property
    def depth(self) -> int:
        """Levels of symbols below the root, ``D``."""
        return len(self.rules) + 1

    @property
    def length(self) -> int:
        """Words of a sentence, 2^D."""
        return 2**self.depth

    @property
    def lengths(self) -> range:
        """Every sentence has 2^D words."""
        return range(self.length, self.length + 1)

    @property
    def num_classes(self) -> dict[str, int]:
        """R for the whole sentence, K for each prefix."""
        prefixes = {f"prefix_{2**height}": len(self.words) for height in range(1, self.depth)}
        return {"sentence": len(self.root), **prefixes}

    def sample(self, key: Key, num: int) -> Sentences:
        """Draw ``num`` sentences, one level after the other."""
        rules = [jnp.asarray(self.root_rules, float), *jnp.asarray(self.rules, float)]
        tables = [cumulative(table.reshape(len(table), -1)) for table in rules]
        words = cumulative(self.words)

        def draw(key: Key) -> Sentences:
            root_key, word_key, key = jax.random.split(key, 3)
            symbols = categorical(root_key, jnp.asarray(self.root, float))[None]
            for level, table in enumerate(tables):
                drawn = categorical_of(jax.random.fold_in(key, level), table, symbols)
                symbols = jnp.stack(jnp.divmod(drawn, len(words)), axis=-1).reshape(-1)
            return Sentences(categorical_of(word_key, words, symbols))

        return draw_each(draw, key, num)

    def log_probability(self, tokens: Tokens) -> Float[Array, "*n"]:
        """Log-probability of each sentence, in nats; -inf for one that never occurs."""
        spans, log_scale = self._inside(self._emitted(tokens))
        return jnp.log(spans[-1] @ jnp.asarray(self.root, float)) + log_scale

    def log_conditionals(self, tokens: Tokens) -> Float[Array, "*n T V"]:
        """Log-probability of every word at every position given the others, in nats.

        NaN if no word at the position makes a possible sentence.
        """
        return self._law_of_words(self._outside(self._emitted(tokens)))

    def log_next(self, tokens: Tokens) -> Float[Array, "*n T V"]:
        """Log-probability of every word at every position given those before it, in nats.

        Sums over the words at and after the position. NaN after a prefix that never occurs. It
        costs T times as much as :meth:`log_conditionals`.
        """
        emitted, places = self._emitted(tokens), jnp.arange(self.length)

        def at(place: Array) -> Array:
            known = jnp.where((places < place)[:, None], emitted, 1.0)
            return self._outside(known)[..., place, :]

        return self._law_of_words(jnp.moveaxis(jax.lax.map(at, places), 0, -2))

    def _outside(self, emitted: Float[Array, "*n T K"]) -> Float[Array, "*n T K"]:
        """Derivative of the sentence's probability by p(x_t | symbol), up to a factor."""

        def scaled_probability(emitted: Array) -> Array:
            spans, _ = self._inside(emitted)
            return (spans[-1] @ jnp.asarray(self.root, float)).sum()

        return jax.grad(scaled_probability)(emitted)

    def _law_of_words(self, outside: Float[Array, "*n T K"]) -> Float[Array, "*n T V"]:
        """Log-probability of the words, as a mixture over symbols."""
        words = jnp.asarray(self.words, float)
        # the sum over words from each symbol's sum: one pass less over V numbers per position
        total = outside @ words.sum(axis=-1, keepdims=True)
        return jnp.log(outside @ words) - jnp.log(total)

    def labels(self, sentences: Sentences) -> dict[str, Int[Array, "*n"]]:
        """The most probable symbol of the whole sentence and of each prefix."""
        *prefixes, whole = self._inside(self._emitted(sentences.tokens))[0]
        spans = (whole, *prefixes)
        return {
            name: most_probable(span) for name, span in zip(self.num_classes, spans, strict=True)
        }

    def log_posteriors(self, tokens: Tokens) -> dict[str, Float[Array, "*n C"]]:
        """0 for the class of a sentence and -inf for others: the words determine it."""
        labels = self.labels(Sentences(jnp.asarray(tokens)))
        return {name: certain(labels[name], size) for name, size in self.num_classes.items()}

    def _emitted(self, tokens: Tokens) -> Float[Array, "*n T K"]:
        """p(x_t | symbol)."""
        check_sentences(self, tokens)
        return columns_of(self.words, tokens)

    def _inside(
        self, emitted: Float[Array, "*n T K"]
    ) -> tuple[list[Float[Array, "*n C"]], Float[Array, "*n"]]:
        """Inside probabilities of the first 2, 4, .. 2^D words, scaled; log-scale of the last.

        Every span is divided by its largest entry, held constant under differentiation: a product
        of 32 words is out of float32's range, and the derivative is needed only up to a factor.
        """
        spans, log_scale = [], jnp.zeros(emitted.shape[:-2], emitted.dtype)
        for table in (*jnp.asarray(self.rules, float)[::-1], jnp.asarray(self.root_rules, float)):
            left, right = emitted[..., ::2, :], emitted[..., 1::2, :]
            emitted = jnp.einsum("nab,...a,...b->...n", table, left, right)
            largest = jax.lax.stop_gradient(emitted.max(axis=-1, keepdims=True))
            scale = jnp.where(largest > 0, largest, 1)
            emitted = emitted / scale
            log_scale = log_scale + jnp.log(scale).sum(axis=(-2, -1))
            spans.append(emitted[..., 0, :])
        return spans, log_scale


def tree_grammar(
    *,
    depth: int = 5,
    symbols_per_level: int = 10,
    vocab_size: int = 200,
    rules_per_symbol: int = 3,
    words_per_symbol: int = 22,
    num_roots: int = 9,
    seed: int = 0,
) -> TreeGrammar:
    """A random grammar: normalised uniform random weights on distinct pairs and words.

    Entropies in nats per token, by (rules, words) per symbol: (3, 10) 2.4, (3, 22) 3.2, (3, 50)
    4.1, (5, 16) 3.2, (20, 20) 4.5, at the other defaults.

    Args:
        depth: D; a sentence has 2^D words.
        symbols_per_level: K.
        vocab_size: V.
        rules_per_symbol: pairs that each symbol of levels 1 .. D-1 may become, at most K².
        words_per_symbol: words that each symbol of level D may become, at most V.
        num_roots: R, roots with one pair each.
        seed: draws the tables.

    Raises:
        ValueError: if a number is out of its range.
    """
    symbols = symbols_per_level
    for name, value, largest in (
        ("depth", depth, 16),
        ("symbols_per_level", symbols, 2**10),
        ("vocab_size", vocab_size, 2**20),
        ("rules_per_symbol", rules_per_symbol, symbols**2),
        ("words_per_symbol", words_per_symbol, vocab_size),
        ("num_roots", num_roots, symbols**2),
    ):
        require(name, value, 1 <= value <= largest, f"in 1..{largest}")
    require("seed", seed, seed >= 0, "at least 0")
    rng = np.random.default_rng(seed)

    def rows(num: int, support: int, size: int) -> Float[np.ndarray, "num size"]:
        """Distributions with uniform random weights on ``support`` of ``size`` outcomes."""
        weights = np.zeros((num, size))
        for row in weights:
            row[rng.choice(size, support, replace=False)] = rng.uniform(size=support)
        return weights / weights.sum(axis=1, keepdims=True)

    root = rows(1, num_roots, num_roots)[0]
    pairs = rng.choice(symbols**2, num_roots, replace=False)
    root_rules = np.eye(symbols**2)[pairs].reshape(num_roots, symbols, symbols)
    levels = rows((depth - 1) * symbols, rules_per_symbol, symbols**2)
    rules = levels.reshape(depth - 1, symbols, symbols, symbols)
    return TreeGrammar(root, root_rules, rules, rows(symbols, words_per_symbol, vocab_size))
