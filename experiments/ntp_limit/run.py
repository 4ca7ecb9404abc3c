"""Passages of Genesis embedded by their words: their limit, and gradient descent towards it."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from el_jax.config.linear_ntp import Embedding, text_problem
from el_jax.linear_ntp import (
    entropy_lower_bound,
    limit_problem,
    max_margin,
    run_trajectory,
    smoothness_bound,
)
from experiments.harness.seeds import Measured, run_seeds
from experiments.harness.tables import Where

SETTINGS: dict[str, list[tuple[Embedding, int]]] = {  # an embedding, and words of a context
    "smoke": [("bag_of_words", 2)],
    "cpu": [(e, n) for e in ("bag_of_words", "one_hot_positions") for n in (2, 3)],
}
SIZES = {  # words of a passage, of its vocabulary, steps, passages
    "smoke": (60, 6, 100, 2),
    "cpu": (300, 20, 100_000, 5),
}
NUM_SEEDS = {scale: size[-1] for scale, size in SIZES.items()}
PASSAGE_EVERY = 2_000  # words of Genesis between the first words of two passages
CURVES = {
    "excess_loss": "above_infimum",
    "cosine_across_frobenius": "cosine",
    "finite_error": "finite_error",
}


def setting(embedding: str, length: int) -> Where:
    """The factors of a measurement."""
    return {"embedding": embedding, "context_length": length}


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """One passage, under each embedding and with each length of contexts."""
    for embedding, length in SETTINGS[scale]:
        factors = setting(embedding, length)
        yield from _measure(factors, scale, seed, embedding, length)


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)


def _measure(
    factors: Where, scale: str, seed: int, embedding: Embedding, length: int
) -> list[Measured]:
    """Separable pairs, and the position of gradient descent from 0 after all steps."""
    num_words, vocab_limit, num_steps, _ = SIZES[scale]
    problem = text_problem(
        books=("Genesis",),
        first_word=PASSAGE_EVERY * seed,
        num_words=num_words,
        context_length=length,
        vocab_limit=vocab_limit,
        min_count=1,
        embedding=embedding,
        dim=0,
        seed=seed,
    )
    limit = limit_problem(problem)
    if limit.problem is None:
        raise RuntimeError(f"seed {seed}: nothing of the passage is separable.")
    ran = run_trajectory(
        limit.problem,  # it has the same gradients as the passage
        "gd",
        0.5 / smoothness_bound(problem),
        num_steps,
        num_marks=16,
        w_mm={"frobenius": max_margin(limit.problem, tolerance=1e-4).w},
    )
    probs, pi = _softmax(ran.final @ problem.embeddings), problem.context_probs

    def distance(to: np.ndarray) -> float:
        return float(pi @ np.abs(probs - to).sum(axis=0)) / 2

    courses = {name: ran.metrics[metric] for metric, name in CURVES.items()}
    numbers = {
        "contexts": float(problem.num_contexts),
        "separable_share": float(limit.separable.sum() / (~problem.support).sum()),
        "separated_contexts_share": float((limit.separable | problem.support).all(axis=0).mean()),
        "infimum_above_entropy": limit.infimum - entropy_lower_bound(problem),
        "stationarity": limit.stationarity,
        "distance_to_limit": distance(limit.probs),
        "distance_to_data": distance(problem.next_token_probs),
        **{name: float(course[-1]) for name, course in courses.items()},
    }
    return [Measured(factors, numbers, ran.steps[1:], {name: c[1:] for name, c in courses.items()})]


def _softmax(logits: np.ndarray) -> np.ndarray:
    shifted = np.exp(logits - logits.max(axis=0))
    return shifted / shifted.sum(axis=0)
