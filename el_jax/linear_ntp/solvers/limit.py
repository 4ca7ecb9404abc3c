"""The limit of training on data that need be neither separable nor compatible.

Ji and Telgarsky 2019 (arXiv 1803.07300) split labelled examples into those that a linear classifier
separates and the rest; here the same is done for pairs of a context and a token that does not
follow it. Call W receding if its logits are equal in every support and no larger outside: along it
the loss never rises. Together, all receding W separate a largest set of pairs. Along them those
tokens lose all probability, and the loss with those tokens deleted has a minimiser. With q its
probabilities, ∇CE(W) = -Σ_j π_j (p_j - softmax(W h_j)) h_jᵀ is the same at every W for data with p
and with q, since Σ_j π_j (p_j - q_j) h_jᵀ = 0: the two losses differ by a constant. Data with q are
separable and compatible, so everything that Thrampoulidis 2024 proves for such data holds for any
data, with q in place of p.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float64
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg

from el_jax.linear_ntp.problems.problem import NTPProblem, check_problem
from el_jax.linear_ntp.solvers.conditions import Separability, check_separability
from el_jax.linear_ntp.solvers.max_margin import UndecidedError
from el_jax.linear_ntp.theory.certificates import FarkasMatrix
from el_jax.process.double_precision import float64

_BINDING = 1e-6  # of a Farkas matrix's largest entry off supports; smaller is rounding
_STATIONARY = 1e-12  # of Σ_j π_j ‖h_j‖; an iteration that converges ends near 1e-16


@dataclass(frozen=True, eq=False)
class LimitProblem:
    """Separable and compatible data with the same gradients as a problem.

    Attributes:
        problem: the same contexts, with q, the limit of next-token probabilities, in place of P;
            None if no pair is separable, so that the loss has a minimiser.
        probs: q, ``[V, m]``.
        separable: pairs of a token and a context that training separates, where q is 0,
            ``[V, m]``.
        finite: a W that minimises the loss without them, ``[V, d]``.
        infimum: the infimum of cross-entropy over all W, in nats.
        stationarity: ‖Σ_j π_j (p_j - q_j) h_jᵀ‖, the largest difference of gradients; 0 up to
            rounding.
        stages: verdicts on the supports as pairs join them: Farkas matrices that show which join
            and, if pairs are left, a decoder that separates them.
    """

    problem: NTPProblem | None
    probs: Float64[np.ndarray, "V m"]
    separable: Bool[np.ndarray, "V m"]
    finite: Float64[np.ndarray, "V d"]
    infimum: float
    stationarity: float
    stages: tuple[Separability, ...]


def limit_problem(problem: NTPProblem, *, verdict: Separability | None = None) -> LimitProblem:
    """Find the pairs that training separates, and the limit of its probabilities.

    Every Farkas matrix B of the data is negative at pairs that no receding W separates. They join
    the supports until a decoder separates all others. An entry of B counts if it is above 1e-6 of
    the largest.

    Args:
        problem: any data.
        verdict: the result of ``check_separability``, if known.

    Warns:
        RuntimeWarning: if the minimisation ended early, as it may where the lengths of embeddings
            differ by orders of magnitude.

    Raises:
        UndecidedError: if neither a decoder nor a Farkas matrix was found at some stage.
    """
    check_problem(problem)
    kept = problem.support
    stages: list[Separability] = []
    while not kept.all():
        if verdict is None or stages:
            verdict = check_separability(_with_probs(problem, kept / kept.sum(axis=0)))
        stages.append(verdict)
        if verdict.holds:
            break
        if not isinstance(verdict.certificate, FarkasMatrix):
            joined = int(kept.sum() - problem.support.sum())
            raise UndecidedError(
                f"{verdict.reason}, after {joined} pairs were found not separable",
                verdict.margin_interval,
            )
        b = np.where(kept, 0.0, -verdict.certificate.b)
        kept = kept | (b > _BINDING * b.max())
    finite, probs, infimum = _least(problem, kept)
    excess = problem.context_probs * (problem.next_token_probs - probs)
    stationarity = float(np.linalg.norm(excess @ problem.embeddings.T))
    lengths = np.linalg.norm(problem.embeddings, axis=0)
    if stationarity > _STATIONARY * float(problem.context_probs @ lengths):
        message = f"the limit may be wrong: a slope of {stationarity:.0e} is left at its W"
        message += f"; embeddings have lengths from {lengths.min():.0e} to {lengths.max():.0e}"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    return LimitProblem(
        problem=None if kept.all() else _with_probs(problem, probs),
        probs=probs,
        separable=~kept,
        finite=finite,
        infimum=infimum,
        stationarity=stationarity,
        stages=tuple(stages),
    )


def _with_probs(problem: NTPProblem, probs: Float64[np.ndarray, "V m"]) -> NTPProblem:
    return NTPProblem(problem.embeddings, problem.context_probs, probs)


def _least(
    problem: NTPProblem, kept: Bool[np.ndarray, "V m"]
) -> tuple[Float64[np.ndarray, "V d"], Float64[np.ndarray, "V m"], float]:
    """The least cross-entropy of the kept tokens: W, its probabilities, and its value in nats.

    Uses Newton's method in a trust region; conjugate gradients cope with flat directions.
    """
    shape = problem.vocab_size, problem.dim

    def logits(flat: Array) -> Array:
        return jnp.where(kept, flat.reshape(shape) @ problem.embeddings, -jnp.inf)

    def loss(flat: Array) -> Array:
        log_probs = jnp.where(kept, jax.nn.log_softmax(logits(flat), axis=0), 0.0)
        return -jnp.sum(problem.context_probs * problem.next_token_probs * log_probs)

    with float64():
        slope = jax.jit(jax.grad(loss))
        along = jax.jit(lambda flat, by: jax.jvp(jax.grad(loss), (flat,), (by,))[1])
        found = minimize(
            jax.jit(loss),
            np.zeros(shape[0] * shape[1]),
            jac=slope,
            hessp=along,
            method="trust-ncg",
            options={"gtol": 1e-14},
        )
        lengths = np.linalg.norm(problem.embeddings, axis=0)
        rounding = np.finfo(np.float64).eps * float(problem.context_probs @ lengths)
        flat = _polished(np.asarray(found.x), slope, along, rounding)
        probs = np.asarray(jax.nn.softmax(logits(jnp.asarray(flat)), axis=0))
        return flat.reshape(shape), probs, float(loss(jnp.asarray(flat))) + 0.0  # not -0


def _polished(
    flat: Float64[np.ndarray, "n"],
    slope: Callable[..., Array],
    along: Callable[..., Array],
    rounding: float,
) -> Float64[np.ndarray, "n"]:
    """Take Newton steps while each halves the slope; a trust region stops at equal losses.

    A slope of length ``rounding`` = ε Σ_j π_j ‖h_j‖ is noise, partly along directions without
    curvature, where conjugate gradients divide by 0.
    """
    size = np.linalg.norm(slope(flat))
    while size > rounding:
        curvature = LinearOperator(
            (flat.size, flat.size), matvec=partial(along, flat), dtype=np.float64
        )
        further = flat - cg(curvature, np.asarray(slope(flat)), rtol=1e-3)[0]
        smaller = np.linalg.norm(slope(further))
        if not smaller < size / 2:
            break
        flat, size = further, smaller
    return flat
