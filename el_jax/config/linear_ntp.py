"""Turn the config of a linear problem into checked settings."""

import dataclasses
import inspect
import typing
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from ml_collections import ConfigDict

from el_jax.config.sections import check_keys, choose, keys_and_values, section, typed, values_of
from el_jax.linear_ntp import (
    DIRECTIONS,
    NTPProblem,
    antipodal_problem,
    bag_of_tokens,
    crowded_problem,
    duplicate_problem,
    facet_problem,
    figure1_problem,
    from_counts,
    from_tokens,
    load_activations,
    load_array,
    merge_contexts,
    one_hot_positions,
    one_hot_problem,
    orthonormal_problem,
    random_problem,
    teacher_problem,
)
from el_jax.linear_ntp.problems.corpus import array_names
from el_jax.linear_ntp.theory.norms import Norm
from el_jax.process.errors import ConfigError
from el_jax.tasks.king_james import encode_words, king_james_words

SECTIONS = ("problem", "norms", "trajectory")
Embedding = Literal["gaussian", "bag_of_words", "one_hot_positions"]


_WORD_EMBEDDINGS = {"bag_of_words": bag_of_tokens, "one_hot_positions": one_hot_positions}


def text_problem(
    *,
    books: tuple[str, ...],
    first_word: int,
    num_words: int,
    context_length: int,
    vocab_limit: int,
    min_count: int,
    embedding: Embedding,
    dim: int,
    seed: int,
    all_prefixes: bool = False,
) -> NTPProblem:
    """Words of the King James Bible as contexts and next tokens.

    Args:
        books: names of the books; empty for all.
        first_word: number of words to skip.
        num_words: number of words from there; 0 for all.
        context_length: words per context.
        vocab_limit: number of most frequent words kept; the others share one token everywhere.
        min_count: contexts that occur less often are left out.
        embedding: ``gaussian``, independent for each context; or made from its words, regardless of
            order (``bag_of_words``) or place by place (``one_hot_positions``), and projected to
            ``dim`` dimensions by a Gaussian matrix if ``dim`` is not 0.
        dim: d; 0 leaves an embedding of words unprojected.
        seed: seed of the Gaussian numbers.
        all_prefixes: cut the words into sequences of ``context_length + 1`` and take every prefix
            of each as a context (Appendix C), instead of all windows.

    Raises:
        ValueError: a number is out of range, a book is unknown, or no context is left.
    """
    least = {"first_word": 0, "num_words": 0, "context_length": 1, "vocab_limit": 1, "dim": 0}
    given = first_word, num_words, context_length, vocab_limit, dim
    for (name, lowest), value in zip(least.items(), given, strict=True):
        if value < lowest:
            raise ValueError(f"{name}={value}: must be at least {lowest}")
    words = king_james_words(books)[first_word:][: num_words or None]
    tokens, vocabulary = encode_words(words)
    tokens = np.minimum(tokens, vocab_limit)  # the rare words share the last token
    size = min(len(vocabulary), vocab_limit + 1)
    rng = np.random.default_rng(seed)
    if embedding == "gaussian":
        if dim < 1:
            raise ValueError(f"dim={dim}: must be at least 1 for Gaussian embeddings")
        embed: Callable[[np.ndarray], Any] = lambda c: rng.standard_normal((dim, len(c)))  # noqa: E731
    else:
        of_words = _WORD_EMBEDDINGS[embedding](size)
        embed = of_words if dim == 0 else _projected(of_words, dim, rng)
    if all_prefixes:
        whole = len(tokens) // (context_length + 1) * (context_length + 1)
        tokens = tokens[:whole].reshape(-1, context_length + 1)
    return from_tokens(
        tokens, context_length, embed=embed, all_prefixes=all_prefixes, min_count=min_count
    ).problem


def _projected(
    embed: Callable[[np.ndarray], np.ndarray], dim: int, rng: np.random.Generator
) -> Callable[[np.ndarray], np.ndarray]:
    def project(contexts: np.ndarray) -> np.ndarray:
        whole = embed(contexts)
        return rng.standard_normal((dim, len(whole))) / np.sqrt(dim) @ whole

    return project


def activations_problem(*, embeddings: str, counts: str, unit_norm: bool) -> NTPProblem:
    """Frozen activations of a network as contexts; equal ones are merged.

    Args:
        embeddings: ``.npy`` file, or ``.npz`` file with an array of that name or a single array;
            one activation of d numbers per row.
        counts: ``.npy`` file, or ``.npz`` file with an array of that name, ``[V, contexts]``: the
            number of times that each token followed each context, or its probability.
        unit_norm: scale activations to length 1.

    Raises:
        ValueError: a file or an array is missing, or their numbers of contexts differ; or see
            :func:`from_counts`.
    """
    if embeddings == counts and not {"embeddings", "counts"} <= {*(names := array_names(counts))}:
        raise ValueError(
            f"{counts} holds {', '.join(names) or 'one array without a name'}: must be a .npz file "
            "with embeddings [contexts, d] and counts [V, contexts]"
        )
    activations = load_activations(embeddings, name="embeddings", unit_norm=unit_norm)
    table = load_array(counts, name="counts")
    if table.ndim != 2 or table.shape[1] != activations.shape[1]:
        raise ValueError(
            f"{embeddings} holds embeddings {list(activations.T.shape)}, {counts} counts "
            f"{list(table.shape)}: must be [contexts, d] and [V, contexts]"
        )
    return merge_contexts(from_counts(activations, table))


PROBLEMS: dict[str, Callable[..., NTPProblem]] = {
    "random": random_problem,
    "one_hot": one_hot_problem,
    "orthonormal": orthonormal_problem,
    "teacher": teacher_problem,
    "facet": facet_problem,
    "figure1": figure1_problem,
    "antipodal": antipodal_problem,
    "duplicate": duplicate_problem,
    "crowded": crowded_problem,
    "text": text_problem,
    "activations": activations_problem,
}


@dataclasses.dataclass(frozen=True)
class TrajectorySettings:
    """The trajectory section of a config.

    Attributes:
        method: a name in ``DIRECTIONS``; None for no training.
        step_size: η; None for 1 / (2 L) with the bound on the smoothness L.
        decay: a of η (k + 1)^-a, the exponent of the step size; not a decay of weights.
        num_steps: number of steps.
        num_marks: number of log-spaced steps with a measurement.
    """

    method: str | None
    step_size: float | None
    decay: float
    num_steps: int
    num_marks: int

    def __post_init__(self) -> None:
        if self.method is not None and self.method not in DIRECTIONS:
            raise ValueError(f"method={self.method!r}: must be None or one of {_names()}")
        if self.step_size is not None and self.step_size <= 0:
            raise ValueError(f"step_size={self.step_size}: must be positive, or None")
        for name, least in (("decay", 0.0), ("num_steps", 1), ("num_marks", 2)):
            if (value := getattr(self, name)) < least:
                raise ValueError(f"{name}={value}: must be at least {least}")


def _names() -> str:
    return ", ".join(DIRECTIONS)


@dataclasses.dataclass(frozen=True)
class ProblemChoice:
    """The problem that a config names.

    Attributes:
        name: key of ``PROBLEMS``.
        arguments: arguments of its function.
    """

    name: str
    arguments: dict[str, Any]

    def make(self) -> NTPProblem:
        """Build the problem; this reads its text or files.

        Raises:
            ConfigError: the function refuses an argument, or a file is missing.
        """
        try:
            return PROBLEMS[self.name](**self.arguments)
        except FileNotFoundError as error:
            raise ConfigError(f"config.problem: {error.filename}: no such file") from error
        except (ValueError, OSError) as error:
            raise ConfigError(f"config.problem: {error}") from error


@dataclasses.dataclass(frozen=True)
class NTPSettings:
    """Validated settings; the problem is not built yet.

    Attributes:
        problem: the data.
        norms: the norms in which NTP-SVM is solved.
        trajectory: method, step size and length of the training.
    """

    problem: ProblemChoice
    norms: tuple[Norm, ...]
    trajectory: TrajectorySettings


def parse(config: ConfigDict) -> NTPSettings:
    """Read and check a config."""
    values = values_of(config, "problem")
    check_keys("", values, SECTIONS)
    trajectory = section("trajectory", values["trajectory"], TrajectorySettings)
    norms = typed("", {"norms": values["norms"]}, {"norms": tuple[Norm, ...]})["norms"]
    return NTPSettings(_problem(values["problem"]), norms, trajectory)


def _problem(values: Any) -> ProblemChoice:
    given = keys_and_values("problem", values)
    name = given.pop("name", None)
    builder = choose("problem.name", name, PROBLEMS)
    hints = typing.get_type_hints(builder)
    kinds = {key: hints[key] for key in inspect.signature(builder).parameters}
    arguments = typed("problem", given, kinds)
    if (seed := arguments.get("seed", 0)) < 0:
        raise ConfigError(f"config.problem.seed={seed}: must be at least 0")
    return ProblemChoice(name, arguments)
