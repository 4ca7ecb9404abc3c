"""One layer of self-attention that predicts a token of its context, and the limit of its training.

The last token k of a context attends to each place with the logit e_vᵀ W e_k of its token v, and a
token's probability is the attention of its places. A context with next token y says that for
k, y comes before all other tokens of the context. These orders form a directed graph for each k.
Logits within a strongly connected component have finite differences in the limit, which decide the
probabilities of its tokens; between components the differences grow without bound.

Li, Huang, Ildiz, Rawat, Oymak 2024, "Mechanics of next token prediction with self-attention" (arXiv
2403.08081).
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int
from scipy.linalg import null_space, orth
from scipy.optimize import linprog, minimize, nnls
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, floyd_warshall

from el_jax.process.double_precision import float64
from el_jax.process.errors import require

_LEAST_RESIDUAL = 1e-7  # of a least-squares problem with target 1, whose residual 0 is infeasible


@dataclass(frozen=True, eq=False)
class AttentionProblem:
    """Contexts whose next token is one of theirs.

    Attributes:
        embeddings: e, ``[V, d]``.
        contexts: tokens x, ``[n, T]``; the last is the query.
        next_tokens: y, ``[n]``.

    Raises:
        ValueError: a token is not below V, or a next token is not in its context.
    """

    embeddings: Float[np.ndarray, "V d"]
    contexts: Int[np.ndarray, "n T"]
    next_tokens: Int[np.ndarray, "n"]

    def __post_init__(self) -> None:
        if self.contexts.min() < 0 or self.contexts.max() >= len(self.embeddings):
            raise ValueError(f"contexts: tokens must be from 0 to {len(self.embeddings) - 1}")
        for i, (context, token) in enumerate(zip(self.contexts, self.next_tokens, strict=True)):
            if token not in context:
                raise ValueError(f"next_tokens[{i}]={token}: must be in its context, {context}")


class Orders(NamedTuple):
    """Pairs of tokens that the contexts of a query compare.

    Attributes:
        components: component of each token in the graph of each query, ``[V, V]``.
        before: ``before[k, i, j]``: for query k, i comes before j and not the reverse.
        strict: rows (k, i, j) of next tokens i and tokens j of their contexts with i before j.
        equal: such rows with i and j in one component.
    """

    components: Int[np.ndarray, "V V"]
    before: Bool[np.ndarray, "V V V"]
    strict: Int[np.ndarray, "strict 3"]
    equal: Int[np.ndarray, "equal 3"]


def orders(problem: AttentionProblem) -> Orders:
    """The graphs of all queries, and the pairs of tokens that they order or leave equal."""
    size = len(problem.embeddings)
    graph = np.zeros((size, size, size), bool)
    for context, token in zip(problem.contexts, problem.next_tokens, strict=True):
        graph[context[-1], token, context] = context != token
    components, before = np.zeros((size, size), np.int64), np.zeros_like(graph)
    for k, edges in enumerate(graph):
        components[k] = connected_components(csr_array(edges), connection="strong")[1]
        reached = np.isfinite(floyd_warshall(csr_array(edges), unweighted=True))
        before[k] = reached & (components[k][:, None] != components[k])
    pairs = np.argwhere(graph)
    equal = components[pairs[:, 0], pairs[:, 1]] == components[pairs[:, 0], pairs[:, 2]]
    return Orders(components, before, pairs[~equal], pairs[equal])


def attention_loss(
    W: Float[Array, "d d"], problem: AttentionProblem, counted: Bool[np.ndarray, "n T"]
) -> Float[Array, ""]:
    """Mean of −log attention to the next token, nats.

    Args:
        W: the weights, query last: the logits are ``embeddings @ W @ embeddings[k]``.
        problem: the data.
        counted: places that take part; False takes one out of its context.
    """
    e, x = jnp.asarray(problem.embeddings), problem.contexts
    logits = jnp.einsum("ntd,de,ne->nt", e[x], W, e[x[:, -1]])
    logits = jnp.where(jnp.asarray(counted), logits, -jnp.inf)
    right = jnp.where(jnp.asarray(x == problem.next_tokens[:, None]), logits, -jnp.inf)
    return (jax.nn.logsumexp(logits, axis=1) - jax.nn.logsumexp(right, axis=1)).mean()


def compared(
    problem: AttentionProblem, rows: Int[np.ndarray, "pairs 3"]
) -> Float[np.ndarray, "pairs dd"]:
    """The matrix (e_i − e_j) e_kᵀ of each row (k, i, j), as a row of numbers."""
    e = problem.embeddings
    query, first, second = rows.T
    matrices = np.einsum("pd,pe->pde", e[first] - e[second], e[query])
    return matrices.reshape(len(rows), e.shape[1] ** 2)


def cyclic_subspace(problem: AttentionProblem) -> Float[np.ndarray, "dd r"]:
    """An orthonormal basis of the matrices that compare tokens of one component."""
    rows = compared(problem, orders(problem).equal)
    return orth(rows.T) if len(rows) else rows.T


def graph_svm(
    problem: AttentionProblem, norm: Literal["frobenius", "max"] = "frobenius"
) -> Float[np.ndarray, "d d"]:
    """The matrix of least norm with e_iᵀ W e_k ≥ e_jᵀ W e_k + 1 for all i before j, equal if equal.

    Args:
        problem: the data.
        norm: the norm; in the Frobenius norm by the least-distance programming of Lawson and Hanson
            1974, chapter 23, in the max norm by a linear program.

    Raises:
        ValueError: there is none (with linearly independent embeddings there is always one), or
            ``norm`` is neither.
    """
    require("norm", norm, norm in ("frobenius", "max"), "'frobenius' or 'max'")
    problem, factor = _at_size_1(problem)
    found, dim = orders(problem), problem.embeddings.shape[1]
    if not len(found.strict):  # every pair is in a cycle
        return np.zeros((dim, dim))
    strict, equal = compared(problem, found.strict), compared(problem, found.equal)
    w = (_least_entry if norm == "max" else _shortest)(strict, equal)
    if w is None:
        raise ValueError(
            "no W orders the tokens as the contexts do: their embeddings are linearly dependent"
        )
    return factor * w.reshape(dim, dim)


def _at_size_1(problem: AttentionProblem) -> tuple[AttentionProblem, float]:
    """The problem with largest entry 1 in its embeddings, and the factor from its W to ours."""
    size = float(np.abs(problem.embeddings).max()) or 1.0
    return replace(problem, embeddings=problem.embeddings / size), 1 / size**2


def _shortest(
    strict: Float[np.ndarray, "strict dd"], equal: Float[np.ndarray, "equal dd"]
) -> Float[np.ndarray, "dd"] | None:
    """The shortest w with strict w >= 1 and equal w = 0; None if there is none."""
    free = null_space(equal) if len(equal) else np.eye(strict.shape[1])
    target = np.append(np.zeros(free.shape[1]), 1.0)
    system = np.vstack([(strict @ free).T, np.ones(len(strict))])
    residual = system @ nnls(system, target)[0] - target
    if np.linalg.norm(residual) < _LEAST_RESIDUAL:
        return None
    return free @ (-residual[:-1] / residual[-1])


def _least_entry(
    strict: Float[np.ndarray, "strict dd"], equal: Float[np.ndarray, "equal dd"]
) -> Float[np.ndarray, "dd"] | None:
    """The w of least largest entry under these constraints; the last unknown bounds its entries."""
    size = strict.shape[1]
    bound, eye = np.ones((size, 1)), np.eye(size)
    rows = np.block([[-strict, np.zeros((len(strict), 1))], [eye, -bound], [-eye, -bound]])
    limits = np.append(-np.ones(len(strict)), np.zeros(2 * size))
    cost, held = np.append(np.zeros(size), 1.0), np.pad(equal, ((0, 0), (0, 1)))
    found = linprog(cost, rows, limits, held, np.zeros(len(held)), bounds=(None, None)).x
    return None if found is None else found[:-1]


def finite_part(problem: AttentionProblem) -> Float[np.ndarray, "d d"]:
    """The matrix in ``cyclic_subspace`` of least loss when other components are left out.

    Gradient descent tends to it in that subspace.
    """
    problem, factor = _at_size_1(problem)
    basis, found = cyclic_subspace(problem), orders(problem)
    x, queries = problem.contexts, problem.contexts[:, -1:]
    own = found.components[queries, x] == found.components[queries, problem.next_tokens[:, None]]
    dim = problem.embeddings.shape[1]
    if not basis.size:
        return np.zeros((dim, dim))
    with float64():
        loss = partial(_along, basis=jnp.asarray(basis), problem=problem, counted=own)
        slope, curvature = jax.jit(jax.grad(loss)), jax.jit(jax.hessian(loss))
        at = minimize(
            lambda c: float(loss(jnp.asarray(c))),
            np.zeros(basis.shape[1]),
            jac=lambda c: np.asarray(slope(jnp.asarray(c))),
            hess=lambda c: np.asarray(curvature(jnp.asarray(c))),
            method="trust-exact",
            options={"gtol": 1e-12},
        ).x
    return factor * (basis @ at).reshape(dim, dim)


def _along(
    coordinates: Array, basis: Array, problem: AttentionProblem, counted: np.ndarray
) -> Array:
    dim = problem.embeddings.shape[1]
    return attention_loss((basis @ coordinates).reshape(dim, dim), problem, counted)
