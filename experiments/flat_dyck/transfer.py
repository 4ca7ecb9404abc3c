"""Downstream: the shortest head that interpolates n random inputs, judged on all 2^T of them."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

EXACT = 1e-9  # squared error that counts as reading the balance (variance T) exactly
CUTOFF = 1e-7  # singular values below this share of the largest are 0


class Transfer(NamedTuple):
    """Heads fitted to random samples of one size.

    Attributes:
        median: population error of the median sample.
        share_exact: share of samples whose head has no error.
    """

    median: float
    share_exact: float


def best_error(features: Float[np.ndarray, "n m"], answers: Int[np.ndarray, " n"]) -> float:
    """The least squared error of any head, over all downstream inputs."""
    head = np.linalg.lstsq(features, answers, rcond=CUTOFF)[0]
    return float(np.square(features @ head - answers).mean())


def from_samples(
    features: Float[np.ndarray, "n m"],
    answers: Int[np.ndarray, " n"],
    *,
    num_samples: int,
    num_draws: int,
    seed: int,
) -> Transfer:
    """Fit the shortest head that interpolates a sample, for many independent samples.

    Args:
        features: features of every downstream input.
        answers: the balance of each.
        num_samples: size n of a sample, drawn with replacement.
        num_draws: number of samples.
        seed: draws the samples.
    """
    rng = np.random.default_rng([seed, num_samples])
    drawn = rng.integers(len(answers), size=(num_draws, num_samples))
    # the shortest head is a sum of the samples' features
    products = features @ features.T
    among = products[drawn[:, :, None], drawn[:, None, :]]
    inverses = np.linalg.pinv(among, rcond=CUTOFF**2, hermitian=True)
    weights = np.einsum("dmn,dn->dm", inverses, answers[drawn])
    outputs = np.einsum("dm,dmn->dn", weights, products[drawn])
    errors = np.square(outputs - answers).mean(axis=1)
    return Transfer(float(np.median(errors)), float(np.mean(errors < EXACT)))


def exact_probability(length: int, num_samples: int) -> float:
    """The probability that n samples have balances of both signs: 1 − 2 ((1 + p)/2)^n + p^n.

    p is the probability of balance 0. Solution 1 transfers without error exactly in this case.
    """
    zero = math.comb(length, length // 2) / 2**length
    return 1 - 2 * ((1 + zero) / 2) ** num_samples + zero**num_samples
