"""Sentences with as many opening as closing brackets: every masked input can be enumerated.

Source: Liu, Xie, Li, Ma 2023 (arXiv 2210.14199), section 6 and appendix D. A sentence of even
length T is any order of T/2 opening and T/2 closing brackets, all equally likely, so the masked
bracket is certain: minus the balance g* of the others, with opening +1 and closing -1. The
downstream task is the balance of T brackets drawn by fair coins, none masked.

One-hot inputs, as reconstructed from the proofs: bracket τ is ±e_τ in R^2T, and a mask at t is
ζ e_{T+t} with a fair sign ζ, which closes the inputs under x -> -x.
"""

import functools
import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from el_jax.process.errors import require
from el_jax.types import Key
from el_jax.worlds.world import Sentences, Tokens, check_sentences, check_words, draw_each

OPEN, CLOSE = 0, 1

# C(20, 10) is 184,756; the masked inputs are 40 times as many
MAX_LENGTH = 20


class BracketInputs(NamedTuple):
    """Inputs of the model of section 6, with the target of each.

    Attributes:
        inputs: one-hot vectors of the tokens, ``[n, T, 2T]``.
        answers: +1 for a masked opening bracket and -1 for a closing one, or the balance of an
            input without mask, ``[n]``.
    """

    inputs: Float[np.ndarray, "n T 2*T"]
    answers: Int[np.ndarray, "n"]


@functools.partial(jax.tree_util.register_dataclass, data_fields=(), meta_fields=("length",))
@dataclass(frozen=True)
class Dyck:
    """Balanced sentences of ``OPEN`` and ``CLOSE``, in any order (they need not nest).

    It has no label: the balance of a sentence is always 0.

    Attributes:
        length: T, even.

    Raises:
        ValueError: if T is odd or below 2.
    """

    length: int = 6

    def __post_init__(self) -> None:
        even = self.length >= 2 and self.length % 2 == 0
        require("length", self.length, even, "even and at least 2")

    @property
    def vocab_size(self) -> int:
        """The two brackets."""
        return 2

    @property
    def lengths(self) -> range:
        """Every sentence has T brackets."""
        return range(self.length, self.length + 1)

    @property
    def num_classes(self) -> dict[str, int]:
        """No labels."""
        return {}

    def sample(self, key: Key, num: int) -> Sentences:
        """Draw ``num`` sentences: random permutations of one sentence."""
        ordered = jnp.repeat(jnp.array([OPEN, CLOSE], jnp.int32), self.length // 2)
        return draw_each(lambda key: Sentences(jax.random.permutation(key, ordered)), key, num)

    def log_probability(self, tokens: Tokens) -> Float[Array, "*n"]:
        """Log-probability of each sentence, in nats: -log C(T, T/2), -inf if it is unbalanced."""
        check_sentences(self, tokens)
        uniform = -math.log(math.comb(self.length, self.length // 2))
        return jnp.where(balance(tokens) == 0, uniform, -jnp.inf)

    def log_conditionals(self, tokens: Tokens) -> Float[Array, "*n T 2"]:
        """0 for the bracket that balances the others and -inf for the other one, in nats.

        NaN if neither does.
        """
        check_sentences(self, tokens)
        missing = _signs(tokens) - balance(tokens)[..., None]
        needed = jnp.stack([missing == 1, missing == -1], axis=-1)
        return jnp.where(jnp.abs(missing) == 1, 0, jnp.nan)[..., None] + jnp.where(
            needed, 0, -jnp.inf
        )

    def log_next(self, tokens: Tokens) -> Float[Array, "*n T 2"]:
        """Log-probability of either bracket at every position given those before it, in nats.

        Each has the probability of its share among the remaining brackets. NaN after a prefix that
        never occurs.
        """
        opened = _signs(tokens) > 0
        earlier = jnp.stack([opened, ~opened], axis=-1).cumsum(axis=-2)
        left = self.length // 2 - jnp.roll(earlier, 1, axis=-2).at[..., 0, :].set(0)
        share = left / left.sum(axis=-1, keepdims=True)
        return jnp.where((left < 0).any(axis=-1, keepdims=True), jnp.nan, jnp.log(share))

    def labels(self, _: Sentences) -> dict[str, Int[Array, "*n"]]:
        """No labels."""
        return {}

    def log_posteriors(self, _: Tokens) -> dict[str, Float[Array, "*n C"]]:
        """No labels."""
        return {}

    def masked_inputs(self) -> BracketInputs:
        """Every sentence with every bracket masked in both signs: 2 T C(T, T/2) inputs.

        All are equally likely in pre-training.

        Raises:
            ValueError: if T is above 20.
        """
        require("length", self.length, self.length <= MAX_LENGTH, f"at most {MAX_LENGTH}")
        length = self.length
        opening = list(itertools.combinations(range(length), length // 2))
        signs = np.full((len(opening), length), -1)
        np.put_along_axis(signs, np.array(opening), 1, axis=1)
        inputs = np.tile(one_hot(signs)[:, None, None], (1, length, 2, 1, 1))
        masks = np.einsum("z,tu->tzu", [1.0, -1.0], np.eye(2 * length)[length:])
        place = np.arange(length)
        inputs[:, place, :, place] = masks[:, None]
        answers = np.broadcast_to(signs[:, :, None], (len(signs), length, 2))
        return BracketInputs(inputs.reshape(-1, length, 2 * length), answers.reshape(-1))

    def downstream_inputs(self) -> BracketInputs:
        """All 2^T orders of any brackets, none masked, and the balance of each.

        Raises:
            ValueError: if T is above 20.
        """
        require("length", self.length, self.length <= MAX_LENGTH, f"at most {MAX_LENGTH}")
        signs = np.array(list(itertools.product((1, -1), repeat=self.length)))
        return BracketInputs(one_hot(signs), signs.sum(axis=1))


def balance(tokens: Tokens) -> Int[Array, "*n"]:
    """g*: opening less closing brackets of each sentence."""
    return _signs(tokens).sum(axis=-1)


def one_hot(signs: Int[np.ndarray, "n T"]) -> Float[np.ndarray, "n T 2*T"]:
    """Bracket τ of sign ±1 as ±e_τ in R^2T."""
    length = signs.shape[1]
    return signs[:, :, None] * np.eye(length, 2 * length)


def _signs(tokens: Tokens) -> Int[Array, "*n T"]:
    check_words(tokens, 2)
    return 1 - 2 * jnp.asarray(tokens)
