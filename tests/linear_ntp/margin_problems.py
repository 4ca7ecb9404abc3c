"""Families of problems that are separable, or inseparable, by construction, in few shapes."""

import numpy as np

from el_jax.linear_ntp.problems.builders import facet_problem, one_hot_problem, random_problem
from el_jax.linear_ntp.problems.problem import NTPProblem

SHAPE = {"num_contexts": 20, "dim": 24, "vocab_size": 8}


def with_embeddings(problem, embeddings):
    return NTPProblem(embeddings, problem.context_probs, problem.next_token_probs)


def with_contexts(problem, embeddings, like):
    """The problem with new embeddings; context j has the probabilities of context ``like[j]``."""
    return NTPProblem(embeddings, problem.context_probs, problem.next_token_probs[:, like])


def generic(seed):
    return random_problem(**SHAPE, support_size=1 + seed % 6, seed=seed)


def correlated(seed):
    """Gram matrices of condition about 1e4."""
    base = random_problem(**SHAPE, support_size=3, seed=seed)
    common = np.random.default_rng([seed, 1]).standard_normal((24, 1))
    return with_embeddings(base, 0.3 * base.embeddings + common)


def facets(seed):
    return facet_problem(20, 5, 8, 4, seed=seed, spread=0.9)


def rank_deficient(seed):
    base = facets(seed)
    basis, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((24, 5)))
    return with_embeddings(base, basis @ base.embeddings)


def one_hot(seed):
    return one_hot_problem(**SHAPE, seed=seed)


def antipodal(seed):
    base = random_problem(**SHAPE, support_size=2, seed=seed)
    embeddings = base.embeddings.copy()
    embeddings[:, 7] = -(0.1 + seed % 7) * embeddings[:, 3]
    like = np.arange(20)
    like[7] = 3
    return with_contexts(base, embeddings, like)


def duplicate(seed):
    base = random_problem(**SHAPE, support_size=2, seed=seed)
    support = base.support
    other = next(j for j in range(20) if (support[:, j] != support[:, 3]).any())
    embeddings = base.embeddings.copy()
    embeddings[:, other] = embeddings[:, 3]
    return with_embeddings(base, embeddings)


def balanced(seed):
    """A positive combination of embeddings with one support is 0, but no pair collides."""
    base = random_problem(**SHAPE, support_size=3, seed=seed)
    count = 3 + seed % 4
    embeddings = base.embeddings.copy()
    weights = np.random.default_rng([seed, 1]).uniform(0.2, 2, count - 1)
    embeddings[:, count - 1] = -embeddings[:, : count - 1] @ weights
    like = np.arange(20)
    like[:count] = 0
    return with_contexts(base, embeddings, like)


def crowded(seed):
    return random_problem(20, 4, 8, 2 + seed % 4, seed=seed)


SEPARABLE = (generic, correlated, facets, rank_deficient, one_hot)
INSEPARABLE = (antipodal, duplicate, balanced, crowded)
