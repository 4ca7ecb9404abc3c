"""Descent on the weights of one attention layer, against the two limits that theory predicts."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from el_jax.linear_ntp.attention import (
    AttentionProblem,
    Orders,
    attention_loss,
    compared,
    cyclic_subspace,
    finite_part,
    graph_svm,
    orders,
)
from el_jax.linear_ntp.theory.directions import unit
from el_jax.linear_ntp.theory.norms import matrix_norm
from el_jax.linear_ntp.theory.trajectory import log_spaced_marks
from el_jax.process.double_precision import float64
from experiments.harness.seeds import Measured, run_seeds

VOCAB_SIZE, DIM, LENGTH = 8, 10, 4
QUERIES, NUM_CONTEXTS = 3, 12  # tokens that end contexts; four contexts each, on average
NUM_UNSEEN = 400  # contexts drawn for the test of retrieval
UPDATES = {"smoke": 300, "cpu": 100_000}
NUM_SEEDS = {"smoke": 2, "cpu": 20}
FIRST = 100  # problem of seed 0; the first problems were looked at while this was written
MARKS = 13
SolvedNorm = Literal["frobenius", "max"]
NORMS: tuple[SolvedNorm, ...] = ("frobenius", "max")


class Method(NamedTuple):
    """Steps η shape(gradient), divided by the root of their number if they have one length.

    ``norm`` is the one in which they are steepest descent.
    """

    shape: Callable[[Array], Array]
    step: float
    norm: SolvedNorm
    decays: bool = True


METHODS = {
    "gd": Method(lambda gradient: gradient, 1.0, "frobenius", decays=False),
    "ngd": Method(unit, 0.3, "frobenius"),
    "sign": Method(jnp.sign, 0.03, "max"),
}


class Case(NamedTuple):
    """A problem with all that its runs are compared with."""

    problem: AttentionProblem
    orders: Orders
    margins: dict[SolvedNorm, np.ndarray]
    finite: np.ndarray
    basis: np.ndarray
    unseen: list[tuple[np.ndarray, np.ndarray]]


def problem_of(seed: int) -> AttentionProblem:
    """Random contexts; the next token is that of a random place. More dimensions than tokens."""
    rng = np.random.default_rng(seed)
    embeddings = rng.standard_normal((VOCAB_SIZE, DIM)) / np.sqrt(DIM)
    contexts = rng.integers(0, VOCAB_SIZE, (NUM_CONTEXTS, LENGTH))
    contexts[:, -1] = rng.integers(0, QUERIES, NUM_CONTEXTS)
    places = rng.integers(0, LENGTH, NUM_CONTEXTS)
    return AttentionProblem(embeddings, contexts, contexts[np.arange(NUM_CONTEXTS), places])


def case_of(seed: int) -> Case:
    """A problem with its limits."""
    problem = problem_of(seed)
    margins = {norm: graph_svm(problem, norm) for norm in NORMS}
    found = orders(problem)
    unseen = list(_unseen(problem, found, seed))
    return Case(problem, found, margins, finite_part(problem), cyclic_subspace(problem), unseen)


def _unseen(
    problem: AttentionProblem, found: Orders, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """New contexts of which one component comes before all other tokens, and its places."""
    rng = np.random.default_rng([seed, 1])
    seen = {(*sorted(context), context[-1]) for context in problem.contexts.tolist()}
    for _ in range(NUM_UNSEEN):
        context = rng.integers(0, VOCAB_SIZE, LENGTH)
        query = context[-1] = rng.integers(0, QUERIES)
        component = found.components[query, context]
        for first in range(LENGTH):
            own = component == component[first]
            leads = found.before[query, context[first], context[~own]].all()
            if leads and not own.all() and (*sorted(context.tolist()), query) not in seen:
                yield context, own
                break


def measured(case: Case, w: np.ndarray) -> dict[str, float]:
    """Compare weights with both limits.

    ``cosine_N`` is of the part across the cyclic subspace with the graph SVM of the norm N;
    ``margin_N`` its margin at norm 1 over the largest; ``finite_error`` the distance of the part in
    the subspace from its limit; ``retrieved`` the attention to the leading
    component in unseen contexts.
    """
    problem = case.problem
    within = (case.basis @ (case.basis.T @ w.ravel())).reshape(w.shape)
    across = w - within
    found = {"finite_error": float(np.linalg.norm(within - case.finite))}
    least = (compared(problem, case.orders.strict) @ across.ravel()).min()
    for norm, best in case.margins.items():
        cosine = (across * best).sum() / np.linalg.norm(across) / np.linalg.norm(best)
        found[f"cosine_{norm}"] = float(cosine)
        found[f"margin_{norm}"] = float(least * matrix_norm(best, norm) / matrix_norm(across, norm))
    attention = [_attention(problem, w, context)[own].sum() for context, own in case.unseen]
    found["retrieved"] = float(np.mean(attention)) if attention else np.nan
    return found


def _attention(problem: AttentionProblem, w: np.ndarray, context: np.ndarray) -> np.ndarray:
    e = problem.embeddings
    logits = e[context] @ w @ e[context[-1]]
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def descend(case: Case, method: Method, num: int) -> Iterator[tuple[int, np.ndarray]]:
    """Descent from zero: the weights at each mark."""
    every = np.ones(case.problem.contexts.shape, bool)
    slope = jax.grad(lambda w: attention_loss(w, case.problem, every))

    @jax.jit
    def advance(w: Array, first: Any, last: Any) -> Array:
        def update(step: Array, w: Array) -> Array:
            rate = method.step / jnp.sqrt(step + 1.0) if method.decays else method.step
            return w - rate * method.shape(slope(w))

        return jax.lax.fori_loop(first, last, update, w)

    w, marks = jnp.zeros((DIM, DIM)), log_spaced_marks(num, MARKS)
    for first, last in zip([0, *marks], marks, strict=False):
        w = advance(w, first, last)
        if last:
            yield int(last), np.asarray(w)


def paths(scale: str, case: Case, name: str) -> list[Measured]:
    """The course of one method."""
    method = METHODS[name]
    with float64():
        marks = [(step, measured(case, w)) for step, w in descend(case, method, UPDATES[scale])]
    curves = {metric: np.array([m[metric] for _, m in marks]) for metric in marks[0][1]}
    last = dict(marks[-1][1])
    other = next(norm for norm in NORMS if norm != method.norm)
    last["lead"] = last[f"margin_{method.norm}"] - last[f"margin_{other}"]
    return [Measured({"optimizer": name}, last, np.array([step for step, _ in marks]), curves)]


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """Every method on one problem."""
    case = case_of(FIRST + seed)
    for name in METHODS:
        yield from paths(scale, case, name)


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)
