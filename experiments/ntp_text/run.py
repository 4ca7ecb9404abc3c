"""Passages of Genesis: contexts of T words under three embeddings."""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from el_jax.config.linear_ntp import Embedding, text_problem
from el_jax.linear_ntp import NTPProblem, entropy_lower_bound
from el_jax.linear_ntp.solvers.conditions import check_compatibility, check_separability
from el_jax.linear_ntp.solvers.max_margin import max_margin
from experiments.harness.seeds import Measured, run_seeds
from experiments.harness.tables import Where
from experiments.ntp_phase.least_dimension import LeastDimension, first_dimensions


@dataclasses.dataclass(frozen=True)
class Scale:
    """The amount of text, and the settings measured on it."""

    num_words: int
    vocab_limit: int
    passages: int
    lengths: tuple[int, ...]  # T, of contexts with Gaussian embeddings
    word_lengths: tuple[int, ...]  # T, of contexts embedded by their words


SCALES = {
    "smoke": Scale(60, 6, 2, (1, 2), (2,)),
    "cpu": Scale(300, 20, 5, (1, 2, 3), (2, 3)),
}
NUM_SEEDS = {name: size.passages for name, size in SCALES.items()}
PASSAGE_EVERY = 2_000  # words of Genesis between the first words of two seeds' passages
RESOLUTION = 20  # least dimensions are found to m / 20: verdicts at the very threshold take minutes
RATIOS = (1.0, 1.5, 2.0, 3.0, 4.0)  # d / m at which margins are solved
WORD_EMBEDDINGS: tuple[Embedding, ...] = ("bag_of_words", "one_hot_positions")


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """One passage, under each embedding and with each length of contexts."""
    size = SCALES[scale]
    settings: list[tuple[Embedding, int]] = [("gaussian", length) for length in size.lengths]
    settings += [(kind, length) for length in size.word_lengths for kind in WORD_EMBEDDINGS]
    for embedding, length in settings:
        factors = {"embedding": embedding, "context_length": length}
        measured = _gaussian if embedding == "gaussian" else _of_words
        passage = partial(_passage, size, seed, length, embedding)
        yield from measured(factors, passage)


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)


def _passage(size: Scale, seed: int, length: int, embedding: Embedding) -> NTPProblem:
    """One passage; Gaussian embeddings have enough dimensions for every cut."""
    return text_problem(
        books=("Genesis",),
        first_word=PASSAGE_EVERY * seed,
        num_words=size.num_words,
        context_length=length,
        vocab_limit=size.vocab_limit,
        min_count=1,
        embedding=embedding,
        dim=round(max(RATIOS) * size.num_words) if embedding == "gaussian" else 0,
        seed=seed,
    )


def _gaussian(factors: Where, passage: Callable[[], NTPProblem]) -> Iterator[Measured]:
    """The least dimensions, and the margin in larger ones."""
    problem = passage()
    m = problem.num_contexts
    generic = first_dimensions(problem, m)
    step = max(1, round(m / RESOLUTION))
    separable = LeastDimension(generic, lambda p: check_separability(p).holds, step)
    compatible = LeastDimension(generic, lambda p: check_compatibility(p).holds, step)
    least_separable, least_compatible = separable.find(), compatible.find()
    looked = len(separable.verdicts) + len(compatible.verdicts)
    metrics = {
        "contexts": float(m),
        "mean_support": float(problem.support.sum(axis=0).mean()),
        "entropy": entropy_lower_bound(problem),
        "separable_from": least_separable,
        "separable_from_share": least_separable / m,
        "compatible_from_share": least_compatible / m,
        "separable_after_compatible": (least_separable - least_compatible) / m,
        "undecided_share": (separable.undecided + compatible.undecided) / looked,
    }
    yield Measured(factors, metrics)
    for ratio in RATIOS:
        margin, share = _margin(first_dimensions(problem, round(ratio * m)))
        yield Measured({**factors, "dim_ratio": ratio}, {"margin": margin, "margin_share": share})


def _margin(problem: NTPProblem) -> tuple[float, float]:
    """The Frobenius max margin for embeddings of length about 1, and its share of the ideal.

    The ideal is orthonormal embeddings, whose margin is a closed form in the supports alone.
    """
    scaled = NTPProblem(
        problem.embeddings / np.sqrt(problem.dim), problem.context_probs, problem.next_token_probs
    )
    sizes, V = problem.support.sum(axis=0), problem.vocab_size
    margin = max_margin(scaled, tolerance=1e-4).margin
    return margin, margin * float(np.sqrt((sizes * (V - sizes)).sum() / V))


def _of_words(factors: Where, passage: Callable[[], NTPProblem]) -> list[Measured]:
    """Verdicts in the dimension that the words determine; NaN if undecided."""
    problem = passage()
    verdicts = {
        "separable": check_separability(problem).holds,
        "compatible": check_compatibility(problem).holds,
    }
    metrics = {
        "contexts": float(problem.num_contexts),
        "entropy": entropy_lower_bound(problem),
        "rank_share": float(np.linalg.matrix_rank(problem.embeddings)) / problem.num_contexts,
        **{key: np.nan if holds is None else float(holds) for key, holds in verdicts.items()},
    }
    return [Measured(factors, metrics)]
