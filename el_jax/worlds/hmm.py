"""Hidden Markov models: exact conditionals by forward-backward, the hidden states as labels.

Source: Liu, Xie, Li, Ma 2023, "Same Pre-training Loss, Better Downstream" (arXiv 2210.14199),
section 3: 200 words, 100 states, length 16, random block-diagonal transition and emission, the
states at two positions as labels, entropy 3.758 nats. The paper gives neither the number of blocks
nor the distribution of the rows; four blocks of Dirichlet(0.25) rows give 3.77.
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
    check_rows,
    columns_of,
    cumulative,
    draw_each,
    log_normalised,
    with_known_tables,
)


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=("initial", "transition", "emission"),
    meta_fields=("length",),
)
@dataclass(frozen=True, eq=False)
class HMM:
    """A Markov chain of hidden states, each of which emits one word.

    Attributes:
        initial: distribution of the first state, ``[S]``.
        transition: row z is the distribution of the state after z, ``[S, S]``.
        emission: row z is the distribution of the word of z, ``[S, V]``.
        length: T, at least 1.

    Raises:
        ValueError: if shapes disagree, a row is not a distribution or the length is below 1.
    """

    initial: Any
    transition: Any
    emission: Any
    length: int

    def __post_init__(self) -> None:
        require("length", self.length, self.length >= 1, "at least 1")
        if with_known_tables(self, "initial", "transition", "emission"):
            require("emission.ndim", self.emission.ndim, self.emission.ndim == 2, "2")
            states, words = self.emission.shape
            check_rows("emission", self.emission, (states, words))
            check_rows("transition", self.transition, (states, states))
            check_rows("initial", self.initial, (states,))

    @property
    def vocab_size(self) -> int:
        """Number of words, ``V``."""
        return self.emission.shape[1]

    @property
    def num_states(self) -> int:
        """Number of hidden states, ``S``."""
        return self.emission.shape[0]

    @property
    def lengths(self) -> range:
        """Every sentence has T tokens."""
        return range(self.length, self.length + 1)

    @property
    def num_classes(self) -> dict[str, int]:
        """``state_t`` is the hidden state at position t, counted from 1 as in the paper."""
        return {f"state_{t}": self.num_states for t in range(1, self.length + 1)}

    def sample(self, key: Key, num: int) -> Sentences:
        """Draw ``num`` sentences; ``hidden`` holds their states, ``[num, T]``."""
        initial = jnp.asarray(self.initial, float)
        transition, emission = cumulative(self.transition), cumulative(self.emission)

        def draw(key: Key) -> Sentences:
            first_key, states_key, words_key = jax.random.split(key, 3)

            def step(state: Array, key: Key) -> tuple[Array, Array]:
                state = categorical_of(key, transition, state)
                return state, state

            first = categorical(first_key, initial)
            _, later = jax.lax.scan(step, first, jax.random.split(states_key, self.length - 1))
            states = jnp.concatenate([first[None], later])
            return Sentences(categorical_of(words_key, emission, states), states)

        return draw_each(draw, key, num)

    def log_probability(self, tokens: Tokens) -> Float[Array, "*n"]:
        """Log-probability of each sentence, in nats; -inf for one that never occurs."""
        predicted, _ = self._messages(tokens)
        emitted = jnp.log((predicted * self._emitted(tokens)).sum(axis=-1)).sum(axis=-1)
        return jnp.where(jnp.isnan(emitted), -jnp.inf, emitted)  # its prefix never occurs either

    def belief(self, tokens: Tokens) -> Float[Array, "*n T S"]:
        """Distribution of the state at every position given the tokens so far, ``[*n, T, S]``.

        It is all that an observer of the tokens knows about the state, and all that the next tokens
        depend on. NaN after a prefix that never occurs.
        """
        predicted, _ = self._messages(tokens)
        state = predicted * self._emitted(tokens)
        return state / state.sum(axis=-1, keepdims=True)

    def log_next(self, tokens: Tokens) -> Float[Array, "*n T V"]:
        """Log-probability of every word at every position given those before it, in nats.

        NaN after a prefix that never occurs.
        """
        predicted, _ = self._messages(tokens)
        return jnp.log(predicted @ jnp.asarray(self.emission, float))

    def log_conditionals(self, tokens: Tokens) -> Float[Array, "*n T V"]:
        """Log-probability of every word at every position given the others, in nats.

        p(x_t = v | x_-t) is proportional to Σ_z p(z_t = z | x_<t) p(x_>t | z_t = z) E_zv.

        Sums over states; Viterbi's maximum would be wrong. NaN if no word at t makes a possible
        sentence.
        """
        _, _, emission = self._tables()
        state = self._log_state(tokens)
        largest = state.max(axis=-1, keepdims=True)
        return log_normalised(jnp.log(jnp.exp(state - largest) @ emission))

    def labels(self, sentences: Sentences) -> dict[str, Int[Array, "*n"]]:
        """The hidden states that were drawn."""
        return {name: sentences.hidden[..., t] for t, name in enumerate(self.num_classes)}

    def log_posteriors(self, tokens: Tokens) -> dict[str, Float[Array, "*n S"]]:
        """Log-probability of each state given the sentence, in nats; NaN for an impossible one."""
        posterior = log_normalised(self._log_state(tokens) + jnp.log(self._emitted(tokens)))
        return {name: posterior[..., t, :] for t, name in enumerate(self.num_classes)}

    def _tables(self) -> tuple[Array, Array, Array]:
        return (
            jnp.asarray(self.initial, float),
            jnp.asarray(self.transition, float),
            jnp.asarray(self.emission, float),
        )

    def _emitted(self, tokens: Tokens) -> Float[Array, "*n T S"]:
        """p(x_t | z_t)."""
        return columns_of(self.emission, tokens)

    def _log_state(self, tokens: Tokens) -> Float[Array, "*n T S"]:
        """Logarithm of p(z_t | x_-t), up to a constant at each position."""
        predicted, onward = self._messages(tokens)
        return jnp.log(predicted) + jnp.log(onward)

    def _messages(self, tokens: Tokens) -> tuple[Float[Array, "*n T S"], Float[Array, "*n T S"]]:
        """p(z_t | x_<t), and p(x_>t | z_t) up to a constant at each position."""
        initial, transition, _ = self._tables()
        emitted = jnp.moveaxis(self._emitted(tokens), -2, 0)  # time first, for the scans

        def forward(predicted: Array, emitted: Array) -> tuple[Array, Array]:
            state = predicted * emitted
            return state / state.sum(axis=-1, keepdims=True) @ transition, predicted

        def backward(onward: Array, emitted: Array) -> tuple[Array, Array]:
            earlier = (onward * emitted) @ transition.T
            return earlier / earlier.max(axis=-1, keepdims=True), onward

        start = jnp.broadcast_to(initial, emitted.shape[1:])
        _, predicted = jax.lax.scan(forward, start, emitted)
        _, onward = jax.lax.scan(backward, jnp.ones_like(start), emitted, reverse=True)
        return jnp.moveaxis(predicted, 0, -2), jnp.moveaxis(onward, 0, -2)


def block_hmm(
    *,
    vocab_size: int = 200,
    num_states: int = 100,
    length: int = 16,
    num_blocks: int = 4,
    concentration: float = 0.25,
    seed: int = 0,
) -> HMM:
    """A random model whose states and words form blocks; a sentence never leaves its block.

    Args:
        vocab_size: V, a multiple of ``num_blocks``.
        num_states: S, a multiple of ``num_blocks``; the first state is uniform.
        length: T.
        num_blocks: blocks of S / blocks states that share V / blocks words.
        concentration: parameter of the symmetric Dirichlet distribution of each row within its
            block; small values make states easier to infer from the sentence.
        seed: draws the tables.

    Raises:
        ValueError: if a number is out of its range.
    """
    require("num_blocks", num_blocks, num_blocks >= 1, "at least 1")
    for name, size in (("vocab_size", vocab_size), ("num_states", num_states)):
        shared = size >= num_blocks and size % num_blocks == 0
        require(name, size, shared, f"a positive multiple of num_blocks={num_blocks}")
    require("concentration", concentration, concentration > 0, "above 0")
    require("seed", seed, seed >= 0, "at least 0")
    rng = np.random.default_rng(seed)

    def rows(columns: int) -> Float[np.ndarray, "S columns"]:
        """Dirichlet rows on the diagonal blocks of a table, 0 elsewhere."""
        size = num_states // num_blocks
        within = columns // num_blocks
        table = np.zeros((num_blocks, size, num_blocks, within))
        for block in range(num_blocks):
            table[block, :, block] = rng.dirichlet(np.full(within, concentration), size)
        return table.reshape(num_states, columns)

    initial = np.full(num_states, 1 / num_states)
    return HMM(initial, rows(num_states), rows(vocab_size), length)
