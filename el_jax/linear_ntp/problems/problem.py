"""Next-token prediction with frozen context embeddings: the data of the linear model.

Thrampoulidis 2024, "Implicit Optimization Bias of Next-token Prediction in Linear Models" (arXiv
2402.18551), section 2. Notation and shapes in this package:

=====  ============================================================================
``d``  dimension of an embedding
``m``  distinct contexts
``V``  vocabulary size
``H``  embeddings, one column a context, ``[d, m]``
``π``  how often each context occurs, ``[m]``
``P``  probability of the next token, one column a context, ``[V, m]``
``S``  support, P > 0: the tokens that do follow a context, ``[V, m]``
``W``  the trained decoder, ``[V, d]``; its logits ``L = W H`` are ``[V, m]``
``F``  data subspace, span{(e_z - e_z') h_jᵀ : z, z' in S_j}, and its complement F⊥
=====  ============================================================================
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Float64, Int
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

# Probabilities may come from float32; larger deviations are mistakes, not rounding.
_SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False, init=False, repr=False)
class NTPProblem:
    """Distinct contexts, their frequencies, and the distribution of the token after each.

    Any array-like is accepted. The problem keeps read-only float64 copies, with probabilities
    divided by their sum to remove rounding of the input.

    Attributes:
        embeddings: H, column j the embedding of context j, ``[d, m]``.
        context_probs: π, positive, sums to 1, ``[m]``.
        next_token_probs: P, column j the distribution of the token after context j, ``[V, m]``.

    Raises:
        ValueError: if shapes disagree or are empty, a number is not finite, a probability is
            negative or a context never occurs, probabilities do not sum to 1 (within 1e-6), or
            every token follows every context, which leaves nothing to separate.
    """

    embeddings: Float64[np.ndarray, "d m"]
    context_probs: Float64[np.ndarray, "m"]
    next_token_probs: Float64[np.ndarray, "V m"]

    def __init__(
        self, embeddings: ArrayLike, context_probs: ArrayLike, next_token_probs: ArrayLike
    ) -> None:
        H = _finite("embeddings", embeddings, 2)
        pi = _finite("context_probs", context_probs, 1)
        P = _finite("next_token_probs", next_token_probs, 2)
        for name, array in (("context_probs", pi), ("next_token_probs", P)):
            if array.shape[-1] != H.shape[1]:
                raise ValueError(
                    f"{name} has shape {array.shape}: must have one column for each of the "
                    f"{H.shape[1]} contexts in embeddings {H.shape}"
                )
        pi, P = _normalised("context_probs", pi), _normalised("next_token_probs", P)
        if (pi == 0).any():
            raise ValueError(
                f"context_probs[{pi.argmin()}] is 0: must be positive, or leave it out"
            )
        if (P > 0).all():
            raise ValueError(
                "next_token_probs is positive everywhere: must be 0 for some token and context"
            )
        object.__setattr__(self, "embeddings", _frozen(H))
        object.__setattr__(self, "context_probs", _frozen(pi))
        object.__setattr__(self, "next_token_probs", _frozen(P))

    def __repr__(self) -> str:
        return (
            f"NTPProblem({self.num_contexts} contexts in {self.dim} dimensions, "
            f"{self.vocab_size} tokens)"
        )

    def __setstate__(self, state: dict[str, np.ndarray]) -> None:
        """Make copies and unpickled problems read-only, too."""
        vars(self).update({name: _frozen(array) for name, array in state.items()})

    @property
    def dim(self) -> int:
        """The dimension d of an embedding."""
        return self.embeddings.shape[0]

    @property
    def num_contexts(self) -> int:
        """The number m of distinct contexts."""
        return self.embeddings.shape[1]

    @property
    def vocab_size(self) -> int:
        """The vocabulary size V."""
        return self.next_token_probs.shape[0]

    @cached_property
    def support(self) -> Bool[np.ndarray, "V m"]:
        """S: the tokens that follow each context, P > 0."""
        return _frozen(self.next_token_probs > 0)

    @cached_property
    def log_probs(self) -> Float64[np.ndarray, "V m"]:
        """Log P on the support, 0 off it."""
        return _frozen(np.log(np.where(self.support, self.next_token_probs, 1.0)))

    def decoder(
        self, W: Float[np.ndarray | Array, "V d"] | None = None
    ) -> Float64[np.ndarray, "V d"]:
        """W in float64, zeros for None.

        Raises:
            ValueError: if its shape is not ``[V, d]`` of this problem.
        """
        shape = (self.vocab_size, self.dim)
        given = np.zeros(shape) if W is None else np.asarray(W, np.float64)
        if given.shape != shape:
            raise ValueError(f"W has shape {given.shape}: must be [V, d] = {shape}")
        return given


def column_lengths(embeddings: Float64[np.ndarray, "d m"]) -> Float64[np.ndarray, "m"]:
    """‖h_j‖, correct even if squares underflow or overflow."""
    largest = np.abs(embeddings).max(axis=0)
    return largest * np.linalg.norm(embeddings / np.where(largest > 0, largest, 1.0), axis=0)


def coinciding_contexts(
    embeddings: Float64[np.ndarray, "d m"], *, tolerance: float = 1e-9
) -> Int[np.ndarray, "m"]:
    """Number the groups of contexts whose embeddings coincide, in order of first appearance.

    Args:
        embeddings: H.
        tolerance: embeddings within this distance, relative to the longest one, are linked; a group
            is a connected component of the links.
    """
    columns = np.asarray(embeddings, np.float64).T
    _, exponent = np.frexp(np.abs(columns).max())
    columns = np.ldexp(columns, -exponent)  # exact, and squares stay in range
    reach = tolerance * np.linalg.norm(columns, axis=1).max()
    _, group = connected_components(cdist(columns, columns) <= reach, directed=False)
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group]


def merge_contexts(problem: NTPProblem, *, tolerance: float = 1e-9) -> NTPProblem:
    """Merge contexts that share an embedding into one, adding their probabilities.

    A linear decoder cannot tell them apart, so the cross entropy of any W stays the same. The
    entropy rises, if their next tokens differ in distribution: no W could reach the lower one.
    Left apart, such contexts make data incompatible or inseparable.

    Args:
        problem: the data. Merged contexts come in order of first appearance.
        tolerance: as in :func:`coinciding_contexts`. A merged embedding is its group's mean,
            weighted by π.
    """
    group = coinciding_contexts(problem.embeddings, tolerance=tolerance)
    if group.max() + 1 == problem.num_contexts:
        return problem
    joint = np.eye(group.max() + 1)[group] * problem.context_probs[:, None]  # [m, groups]
    context_probs = joint.sum(axis=0)
    return NTPProblem(
        embeddings=problem.embeddings @ joint / context_probs,
        context_probs=context_probs,
        next_token_probs=problem.next_token_probs @ joint / context_probs,
    )


def check_problem(problem: object) -> None:
    """Raise unless the argument is an NTPProblem (not its embeddings alone, for example).

    Raises:
        TypeError: the message says what to construct.
    """
    if not isinstance(problem, NTPProblem):
        raise TypeError(
            f"problem is {type(problem).__name__}: must be an NTPProblem, "
            "NTPProblem(embeddings [d, m], context_probs [m], next_token_probs [V, m])"
        )


def _finite(name: str, values: object, ndim: int) -> np.ndarray:
    if np.iscomplexobj(np.asarray(values)):
        raise ValueError(f"{name} is complex: must be real")
    array = np.array(values, dtype=np.float64)
    if array.ndim != ndim:
        raise ValueError(f"{name} has shape {array.shape}: must have {ndim} axes")
    if array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}: must not be empty")
    if not np.isfinite(array).all():
        place = ", ".join(map(str, np.argwhere(~np.isfinite(array))[0]))
        raise ValueError(f"{name}[{place}] is not finite: must hold neither NaN nor infinity")
    return array


def _normalised(name: str, probs: np.ndarray) -> np.ndarray:
    """Divide by the sum along the first axis; raise if the input is not probabilities."""
    if (probs < 0).any():
        place = np.argwhere(probs < 0)[0]
        where = ", ".join(map(str, place))
        raise ValueError(f"{name}[{where}] is {probs[tuple(place)]:g}: must not be negative")
    total = np.atleast_1d(probs.sum(axis=0))
    if (np.abs(total - 1) > _SUM_TOLERANCE).any():
        worst = int(np.abs(total - 1).argmax())
        where = f"{name}[:, {worst}]" if probs.ndim == 2 else name
        raise ValueError(f"{where} sums to {total[worst]:.7g}: must sum to 1")
    return probs / total


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array
