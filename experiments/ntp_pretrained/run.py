"""Passages of Genesis: contexts as a network sees them, against controls without its learning."""

import dataclasses
import math
from collections.abc import Iterator
from functools import partial

import jax
import numpy as np
from jaxtyping import Float, Int

from el_jax.linear_ntp import (
    NotSeparableError,
    NTPProblem,
    UndecidedError,
    check_separability,
    entropy_lower_bound,
    from_counts,
    margin_upper_bound,
    max_margin,
)
from experiments.harness.readers import Reader, drawn_reader, fresh, pretrained_reader
from experiments.harness.seeds import Measured, run_seeds
from experiments.harness.tables import Where
from experiments.ntp_phase.least_dimension import LeastDimension
from experiments.ntp_pretrained.features import decoder, features

LENGTHS = (2, 8)  # T, tokens in a context
EMBEDDINGS = PRETRAINED, FRESH, PERMUTED, GAUSSIAN = "pretrained", "fresh", "permuted", "gaussian"
SHARE, MARGIN, BOUND = "separable_from_share", "margin", "bound_over_margin"


@dataclasses.dataclass(frozen=True)
class Scale:
    """The amount of text."""

    num_tokens: int
    vocab_limit: int  # most frequent next tokens; the others share a class
    passages: int


SCALES = {
    "smoke": Scale(40, 5, 2),
    "cpu": Scale(200, 20, 6),
}
NUM_SEEDS = {name: size.passages for name, size in SCALES.items()}
PASSAGE_EVERY = 5_000  # tokens between passages; the first was seen while this was written
RESOLUTION = 20  # least dimensions are found to m / 20: verdicts at the threshold take minutes
TOLERANCE = 1e-4  # relative, for margins


class Passage:
    """The distinct contexts of a passage, and what follows each of them.

    Args:
        tokens: the passage's tokens.
        length: T, tokens in a context.

    Attributes:
        contexts: ``[m, T]``.
        counts: counts of the passage's next tokens after each context, ``[V, m]``, the most
            frequent token first.
        next_tokens: the token of each row.
    """

    def __init__(self, tokens: Int[np.ndarray, " n"], length: int) -> None:
        windows = np.lib.stride_tricks.sliding_window_view(tokens[:-1], length)
        self.contexts, place = np.unique(windows, axis=0, return_inverse=True)
        following, index, counts = np.unique(
            tokens[length:], return_inverse=True, return_counts=True
        )
        order = np.argsort(-counts, kind="stable")
        self.next_tokens = following[order]
        table = np.zeros((len(following), len(self.contexts)))
        np.add.at(table, (index.ravel(), place.ravel()), 1)
        self.counts = table[order]

    def limited(self, vocab_limit: int) -> Float[np.ndarray, "V m"]:
        """The counts where all but the most frequent tokens share the last row."""
        return np.vstack([self.counts[:vocab_limit], self.counts[vocab_limit:].sum(axis=0)])


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """One passage, with contexts of each length, under each embedding."""
    size = SCALES[scale]
    reader = drawn_reader() if scale == "smoke" else pretrained_reader()
    start = PASSAGE_EVERY * (seed + 1)
    tokens = reader.tokens[start : start + size.num_tokens + 1]
    for length in LENGTHS:
        passage = Passage(tokens, length)
        for embedding in EMBEDDINGS:
            factors = {"embedding": embedding, "context_length": length}
            yield from _of_embedding(factors, size, reader, passage, seed)
        factors = {"embedding": PRETRAINED, "context_length": length, "next_tokens": "every"}
        yield from _of_decoder(factors, reader, passage)


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)


def embed(reader: Reader, passage: Passage, embedding: str, seed: int) -> Float[np.ndarray, "d m"]:
    """The contexts' embeddings, with mean squared length 1."""
    rng = np.random.default_rng(seed)
    if embedding == FRESH:
        reader = fresh(reader, jax.random.key(seed))
    found = features(reader, passage.contexts)
    if embedding == GAUSSIAN:
        found = rng.standard_normal(found.shape)
    scaled = found / np.sqrt(np.square(found).sum(axis=0).mean())
    # after scaling, whose last bit depends on the order of the contexts
    return scaled[:, rng.permutation(found.shape[1])] if embedding == PERMUTED else scaled


def principal(embeddings: Float[np.ndarray, "d m"]) -> Float[np.ndarray, "k m"]:
    """Coordinates in the principal directions, the largest first, each of variance 1.

    A condition on the first k of them does not depend on their lengths; equal ones suit solvers.
    """
    _, lengths, rows = np.linalg.svd(embeddings, full_matrices=False)
    rank = int((lengths > lengths[0] * np.finfo(np.float32).eps).sum())
    return rows[:rank] * math.sqrt(embeddings.shape[1])


def _of_embedding(
    factors: Where, size: Scale, reader: Reader, passage: Passage, seed: int
) -> Iterator[Measured]:
    """The least dimension, and the margin in all of them."""
    m = len(passage.contexts)
    counts = passage.limited(size.vocab_limit)
    embeddings = embed(reader, passage, factors["embedding"], seed)
    problem = from_counts(principal(embeddings), counts)
    step = max(1, round(m / RESOLUTION))
    search = LeastDimension(problem, lambda cut: check_separability(cut).holds, step)
    least = search.find()
    margin = margin_of(from_counts(embeddings, counts))
    numbers = {
        "contexts": float(m),
        "entropy": entropy_lower_bound(problem),
        "separable_from": least,
        SHARE: least / m,
        "undecided_share": search.undecided / len(search.verdicts),
        MARGIN: margin,
        "margin_share": margin / orthonormal_margin(problem),
    }
    yield Measured(factors, numbers)


def _of_decoder(factors: Where, reader: Reader, passage: Passage) -> Iterator[Measured]:
    """The best decoder's margin, and the bound from the residuals of the model's own decoder."""
    embeddings = features(reader, passage.contexts)
    size = np.sqrt(np.square(embeddings).sum(axis=0).mean())
    problem = from_counts(embeddings / size, passage.counts)
    own = decoder(reader, passage.next_tokens) * size
    margin = margin_of(problem)
    logits, support = own @ problem.embeddings, problem.support
    lead = np.where(support, logits, np.inf).min(0) - np.where(support, -np.inf, logits).max(0)
    numbers = {
        "tokens": float(problem.vocab_size),
        "own_separated_share": float((lead > 0).mean()),
        MARGIN: margin,
        BOUND: margin_upper_bound(problem, own) / margin,
    }
    yield Measured(factors, numbers)


def margin_of(problem: NTPProblem) -> float:
    """The Frobenius max margin; 0 if no decoder separates, NaN if that is undecided."""
    try:
        return max_margin(problem, tolerance=TOLERANCE).margin
    except NotSeparableError:
        return 0.0
    except UndecidedError:
        return math.nan


def orthonormal_margin(problem: NTPProblem) -> float:
    """The margin of these supports on orthonormal embeddings, a closed form in their sizes."""
    sizes, V = problem.support.sum(axis=0), problem.vocab_size
    return float(np.sqrt(V / (sizes * (V - sizes)).sum()))
