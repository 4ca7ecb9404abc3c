"""Problems from tokens, from counts, and from the frozen activations of a network."""

from collections.abc import Callable
from os import PathLike
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from jaxtyping import ArrayLike, Float, Float64, Int, Num

from el_jax.linear_ntp.problems.problem import NTPProblem, coinciding_contexts, merge_contexts
from el_jax.process.errors import require

PAD = -1  # fills contexts that are shorter than the longest, on the left


class TokenProblem(NamedTuple):
    """A problem counted from tokens, with the meaning of its columns and rows.

    Attributes:
        problem: its rows are ``vocabulary``, its columns the distinct embeddings.
        contexts: the distinct contexts, most recent token last, ``[contexts, T]``.
        column: the column of the problem that each context belongs to, ``[contexts]``.
        vocabulary: the token of each row, ascending, ``[V]``.
        counts: how often each token followed each context, ``[V, contexts]``.
    """

    problem: NTPProblem
    contexts: Int[np.ndarray, "contexts T"]
    column: Int[np.ndarray, "contexts"]
    vocabulary: Int[np.ndarray, "V"]
    counts: Int[np.ndarray, "V contexts"]


def from_counts(embeddings: Float[ArrayLike, "d m"], counts: Num[ArrayLike, "V m"]) -> NTPProblem:
    """Make a problem from counts of the tokens after each context.

    Args:
        embeddings: H, a column for each context, ``[d, m]``.
        counts: how often each token followed each context, ``[V, m]``; finite and at least 0, with
            some in each column.

    Raises:
        ValueError: if a context has no count, or from :class:`NTPProblem`.
    """
    table, columns = np.asarray(counts, np.float64), np.shape(embeddings)[-1]
    fits = table.ndim == 2 and table.shape[1] == columns
    require(
        "counts.shape",
        table.shape,
        fits,
        f"(V, {columns}), since embeddings have {columns} columns",
    )
    least = float(table.min(initial=0))  # NaN stays NaN
    require(
        "least count", least, bool(np.isfinite(table).all()) and least >= 0, "finite, at least 0"
    )
    total = table.sum(axis=0)
    if (total <= 0).any():
        raise ValueError(
            f"counts[:, {int(total.argmin())}] sums to {total.min():g}: must be positive"
        )
    return NTPProblem(np.asarray(embeddings), total / total.sum(), table / total)


def from_tokens(
    tokens: Int[ArrayLike, "*sequences T"],
    context_length: int,
    *,
    embed: Callable[[np.ndarray], Float[ArrayLike, "d contexts"]],
    all_prefixes: bool = False,
    min_count: int = 1,
    vocab_limit: int | None = None,
    tolerance: float = 1e-9,
) -> TokenProblem:
    """Count the tokens after each context, and merge contexts whose embeddings coincide.

    Args:
        tokens: one stream, or one sequence per row; at least 0. Contexts do not cross rows.
        context_length: tokens in a context.
        embed: maps contexts ``[contexts, context_length]`` to embeddings ``[d, contexts]``.
        all_prefixes: instead of every window, take the prefixes of each row up to this length
            (Appendix C of the paper), filled with ``PAD`` on the left.
        min_count: contexts that occur less often are left out.
        vocab_limit: keep only this many next tokens, the most frequent ones (ties go to the
            smaller); pairs with another next token are left out. None keeps all.
        tolerance: as in :func:`coinciding_contexts`.

    Raises:
        ValueError: if tokens are not integers of at least 0, ``vocab_limit`` is below 1 or nothing
            is left to count, or from ``embed`` or :class:`NTPProblem`.
    """
    require("vocab_limit", vocab_limit, vocab_limit is None or vocab_limit >= 1, "at least 1")
    rows = np.atleast_2d(np.asarray(tokens))
    if rows.dtype.kind not in "iu":
        raise ValueError(f"tokens are {rows.dtype}: must be integers")
    if rows.size and rows.min() < 0:
        raise ValueError(f"tokens hold {rows.min()}: must be at least 0 ({PAD} is padding)")
    windows, following = _pairs(rows, context_length, all_prefixes=all_prefixes)
    vocabulary = np.unique(rows)
    # as next tokens: one that only begins rows follows nothing
    frequency = np.bincount(np.searchsorted(vocabulary, following), minlength=len(vocabulary))
    kept_tokens = np.argsort(-frequency, kind="stable")[:vocab_limit]
    vocabulary = np.sort(vocabulary[kept_tokens])
    kept = np.isin(following, vocabulary)
    contexts, which = np.unique(windows[kept], axis=0, return_inverse=True)
    counts = np.zeros((len(vocabulary), len(contexts)), np.int64)
    np.add.at(counts, (np.searchsorted(vocabulary, following[kept]), which.ravel()), 1)
    frequent = counts.sum(axis=0) >= min_count
    contexts, counts = contexts[frequent], counts[:, frequent]
    if len(contexts) == 0:
        raise ValueError(
            f"tokens of shape {rows.shape} have no context of length {context_length} that occurs "
            f"{min_count} times: must have one"
        )
    embeddings = np.asarray(embed(contexts), np.float64)
    if embeddings.ndim != 2 or embeddings.shape[1] != len(contexts):
        raise ValueError(f"embed gave {embeddings.shape}: must be [d, {len(contexts)}]")
    column = coinciding_contexts(embeddings, tolerance=tolerance)
    problem = merge_contexts(from_counts(embeddings, counts), tolerance=tolerance)
    return TokenProblem(problem, contexts, column, vocabulary, counts)


def bag_of_tokens(vocab_size: int) -> Callable[[np.ndarray], Float64[np.ndarray, "V contexts"]]:
    """Make an embedding by the share of each token; order is lost, so contexts coincide.

    It raises ValueError for a token of ``vocab_size`` or more.
    """
    return lambda contexts: np.stack(
        [
            (_known(contexts, vocab_size) == token).sum(axis=1) / (contexts != PAD).sum(axis=1)
            for token in range(vocab_size)
        ]
    )


def one_hot_positions(
    vocab_size: int,
) -> Callable[[np.ndarray], Float64[np.ndarray, "TV contexts"]]:
    """Make an embedding that concatenates the one-hot vectors of the tokens; PAD is zero.

    It raises ValueError for a token of ``vocab_size`` or more.
    """
    tokens = np.arange(vocab_size)[:, None]
    return lambda contexts: np.concatenate(
        [row == tokens for row in _known(contexts, vocab_size).T]
    ).astype(float)


def _known(contexts: np.ndarray, vocab_size: int) -> np.ndarray:
    largest = int(contexts.max())
    require("vocab_size", vocab_size, largest < vocab_size, f"above the largest token, {largest}")
    return contexts


def array_names(path: str | PathLike[str]) -> list[str]:
    """Names of the arrays of a ``.npz`` file; none for a ``.npy`` file."""
    loaded = _opened(path)
    if isinstance(loaded, np.ndarray):
        return []
    with loaded:
        return list(loaded.files)


def load_array(
    path: str | PathLike[str], *, name: str | None = None, only: bool = False
) -> np.ndarray:
    """Load the array of a ``.npy`` file, or one array of a ``.npz`` file.

    Args:
        path: the file.
        name: the array's name; may be None if there is only one.
        only: whether to take the only array, whatever its name.

    Raises:
        ValueError: if there is no array of that name, or the file has another format.
        OSError: if there is no such file.
    """
    loaded = _opened(path)
    if isinstance(loaded, np.ndarray):
        return loaded
    with loaded:
        alone = len(loaded.files) == 1 and (only or name is None)
        chosen = loaded.files[0] if alone else name
        if chosen not in loaded.files:
            raise ValueError(f"{path}: name={name!r}: must be one of {', '.join(loaded.files)}")
        return loaded[chosen]


def load_activations(
    path: str | PathLike[str], *, name: str | None = None, unit_norm: bool = False
) -> Float64[np.ndarray, "d m"]:
    """Load the activations of a network, ``.npy`` or ``.npz``, as embeddings H.

    Args:
        path: file with one activation per row, ``[..., d]``.
        name: which array of a ``.npz`` that holds several.
        unit_norm: scale every embedding to length 1, so that margins are angles.

    Returns:
        One column for each row of the file; leading axes are flattened in order.

    Raises:
        ValueError: from :func:`load_array`, for a single vector, or for a zero row with
            ``unit_norm``.
    """
    array = load_array(path, name=name, only=True)
    if array.ndim < 2:
        raise ValueError(f"{path} holds an array of shape {array.shape}: must be [..., d]")
    embeddings = array.reshape(-1, array.shape[-1]).T.astype(np.float64)
    if not unit_norm:
        return embeddings
    length = np.linalg.norm(embeddings, axis=0)
    if (length == 0).any():
        raise ValueError(f"row {int(length.argmin())} of {path} is zero: it has no direction")
    return embeddings / length


def _opened(path: str | PathLike[str]) -> Any:
    """The file as NumPy reads it: an array, or a mapping of several to close after use."""
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError, BadZipFile) as error:
        raise ValueError(f"{path}: must be a .npy or .npz file of numbers") from error


def _pairs(
    rows: np.ndarray, context_length: int, *, all_prefixes: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Every context ``[pairs, context_length]`` and the token that follows it ``[pairs]``."""
    length = rows.shape[1]
    if not 1 <= context_length < length:
        raise ValueError(
            f"context_length={context_length}: must be at least 1 and below the length {length}"
        )
    if not all_prefixes:
        windows = np.lib.stride_tricks.sliding_window_view(rows, context_length + 1, axis=1)
        return windows[..., :-1].reshape(-1, context_length), windows[..., -1].ravel()
    ends = np.arange(1, context_length + 1)
    padded = np.pad(rows, ((0, 0), (context_length, 0)), constant_values=PAD)
    windows = np.lib.stride_tricks.sliding_window_view(padded, context_length, axis=1)
    return windows[:, ends].reshape(-1, context_length), rows[:, ends].ravel()
