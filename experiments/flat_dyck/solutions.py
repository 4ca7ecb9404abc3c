"""Nets of zero pre-training loss with uniform attention, and the least possible trace.

Such a net is determined by its neurons: rows w = [v; β] of W_V, v for the brackets and β for the
masks. On the masked inputs y = −g*, the balance of the other brackets.
"""

import itertools
import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from el_jax.worlds.dyck import BracketInputs
from experiments.flat_dyck.model import Net


def least_trace(length: int) -> float:
    """4 / √T, the lower bound of Lemma D.1 on the trace of the Hessian at zero loss."""
    return 4 / math.sqrt(length)


def with_neurons(values: Float[np.ndarray, "m 2*T"], head: Float[np.ndarray, " m"]) -> Net:
    """The net with these neurons and uniform attention; float64 inside ``float64()``."""
    square = np.zeros((values.shape[1],) * 2)
    return Net(*map(jnp.asarray, (square, square, values, head)))


def transferable(length: int) -> Net:
    """Solution 1: two neurons that read the balance of the brackets, as long as their heads."""
    brackets = np.repeat([1.0, 0.0], length)
    return with_neurons(
        length**0.75 * np.stack([-brackets, brackets]), length**0.25 * np.array([1.0, -1.0])
    )


def kinked(length: int) -> Net:
    """Three neurons: one reads the balance for y = 1, two share the inputs with y = −1.

    Besides the balance, the two read one bracket and its mask. On every input one of them is on and
    the other at 0, or one is at 0 and the other off.
    """
    brackets = np.repeat([1.0, 0.0], length)
    one = np.zeros(2 * length)
    one[[1, length + 1]] = 1, -1
    values = length**0.75 * np.stack([-brackets, (brackets - one) / 2, (brackets + one) / 2])
    return with_neurons(values, length**0.25 * np.array([1.0, -1.0, -1.0]))


def random_features(masked: BracketInputs, num_neurons: int, seed: int) -> Net:
    """Solution 2: Gaussian W_V, and the shortest head that fits every masked input.

    Inputs come in pairs x, −x with answers y, −y, and relu(a) = (a + |a|) / 2. So a head fits if
    its |a| cancel on one input of every pair and W_Vᵀ u reads minus the balance.

    Raises:
        numpy.linalg.LinAlgError: fewer neurons than pairs and dimensions together.
    """
    length = masked.inputs.shape[1]
    values = np.random.default_rng(seed).standard_normal((num_neurons, 2 * length))
    averages = masked.inputs.mean(axis=1)[masked.answers == 1]
    conditions = np.concatenate([np.abs(averages @ values.T), values.T])
    # W_Vᵀ u / 2 = −T [1; 0]
    wanted = np.concatenate([np.zeros(len(averages)), -2 * length * np.repeat([1.0, 0.0], length)])
    multipliers = np.linalg.solve(conditions @ conditions.T, wanted)
    return with_neurons(values, conditions.T @ multipliers)


class Neurons(NamedTuple):
    """Neurons that a net with the least trace may have, from an enumeration.

    Attributes:
        brackets: v, scaled so that the neuron is 0 or 2 / T, ``[n, T]``.
        masks: |β|, as many rows, ``[n, T]``.
        signs: the number of neurons that differ only in signs of β, ``[n]``.
    """

    brackets: Float[np.ndarray, "n T"]
    masks: Float[np.ndarray, "n T"]
    signs: Int[np.ndarray, " n"]


def flattest_neurons(length: int, largest: int) -> Neurons:
    """All neurons with whole v up to ``largest`` that satisfy conditions (3) and (4) of Lemma D.1.

    The neuron must be off where the balance is −1, so it is at least 0 where it is 1, and there it
    takes one value c besides 0. With either sign of the mask at t, the sum over brackets ± β_t is
    0 or c: β_t = 0 and the sum is 0 or c, or |β_t| = c / 2 and so is the sum. Some sum is not 0, so
    that c is the largest sum or twice it.
    """
    sides = np.array([s for s in itertools.product((1, -1), repeat=length) if not sum(s)])
    every = np.array(list(itertools.product(range(-largest, largest + 1), repeat=length)))
    # at each place t, the sums over the other brackets where their balance is 1
    sums = np.stack(
        [every @ (sides[sides[:, t] == -1] * (np.arange(length) != t)).T for t in range(length)], 1
    )
    top = sums.max(axis=(1, 2))
    found = []
    for c in (top, 2 * top):
        zero = ((sums == 0) | (sums == c[:, None, None])).all(axis=2)
        half = (2 * sums == c[:, None, None]).all(axis=2)
        fits = (c > 0) & (zero | half).all(axis=1)
        found.append(np.hstack([2 * every[fits] / c[fits, None], half[fits]]))
    brackets, masks = np.hsplit(np.unique(np.concatenate(found), axis=0), 2)
    return Neurons(brackets, masks, (2 ** masks.sum(axis=1)).astype(int))


def family(brackets: Float[np.ndarray, " T"], masks: Float[np.ndarray, " T"]) -> str:
    """The Roman numeral of a flattest neuron's family; empty if it is in none.

    With κ = 2 they are (i) v = 2·1, β = 0; (ii) v = 1, every |β| = 1; (iii) v = 1 − e_τ and
    (iv) v = 1 + e_τ, both with |β_τ| = 1 alone.
    """
    away = brackets - 1
    if (away == 1).all() and not masks.any():
        return "i"
    if not away.any() and masks.all():
        return "ii"
    if masks.sum() == 1 and (np.abs(away) == masks).all():
        return "iii" if away.sum() < 0 else "iv"
    return ""
