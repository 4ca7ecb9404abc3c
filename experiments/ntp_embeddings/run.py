"""Free word and context embeddings: with a ridge that goes to 0, and by descent without one."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.optimize import minimize

from el_jax.linear_ntp import NTPProblem, max_margin
from el_jax.linear_ntp.theory.norms import Norm, logit_margin, matrix_norm
from el_jax.process.double_precision import float64
from experiments.harness.seeds import Measured, run_seeds

SHAPE = {"vocab_size": 10, "support_size": 3, "num_supports": 8, "contexts_each": 2}
FIRST = 200  # problem of seed 0; 100 was looked at while this was written
NUM_SEEDS = {"smoke": 1, "cpu": 10}
RIDGES = {"smoke": 3, "cpu": 7}  # λ = 10^-1, 10^-2, ...
UPDATES = {"smoke": 1_000, "cpu": 100_000}
STEP, START = 0.3, 0.01  # of descent: its first step, and the size of its first embeddings
NORMS: tuple[Norm, ...] = ("nuclear", "frobenius")


class Case(NamedTuple):
    """A problem with the contexts' embeddings H = I, and its max-margin logits by norm."""

    problem: NTPProblem
    margins: dict[Norm, Any]


def problem_of(seed: int) -> NTPProblem:
    """Contexts of equal weight; two share each support, with different probabilities."""
    rng = np.random.default_rng(seed)
    size, each = SHAPE["support_size"], SHAPE["contexts_each"]
    supports: list[tuple[int, ...]] = []
    while len(supports) < SHAPE["num_supports"]:
        drawn = tuple(sorted(rng.choice(SHAPE["vocab_size"], size, replace=False).tolist()))
        supports += [drawn] * (drawn not in supports)
    num_contexts = each * len(supports)
    probs = np.zeros((SHAPE["vocab_size"], num_contexts))
    for context in range(num_contexts):
        probs[list(supports[context // each]), context] = rng.dirichlet(np.ones(size))
    return NTPProblem(np.eye(num_contexts), np.full(num_contexts, 1 / num_contexts), probs)


def loss_of(case: Case, words: Array, contexts: Array) -> Array:
    """Cross-entropy of the logits W H, nats."""
    log_q = jax.nn.log_softmax(words @ contexts, axis=0)
    return -(jnp.asarray(case.problem.next_token_probs) * log_q).sum(axis=0).mean()


def ridge_path(case: Case, num: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Minimisers of CE(W H) + λ/2 (‖W‖² + ‖H‖²), each from the one before, by L-BFGS."""
    vocab_size, num_contexts = case.problem.support.shape

    def split(x: Any) -> tuple[Any, Any]:  # as many dimensions as tokens
        words, contexts = x[: vocab_size**2], x[vocab_size**2 :]
        return words.reshape(vocab_size, -1), contexts.reshape(vocab_size, -1)

    def penalised(x: Array, ridge: Array) -> Array:
        return loss_of(case, *split(x)) + ridge / 2 * jnp.square(x).sum()

    value = jax.jit(jax.value_and_grad(penalised))
    x = 0.1 * np.random.default_rng(seed).standard_normal(vocab_size * (vocab_size + num_contexts))
    for power in range(1, num + 1):
        found = minimize(
            lambda x, power=power: tuple(np.asarray(v, float) for v in value(x, 10.0**-power)),
            x,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 0, "gtol": 1e-14, "maxcor": 50},
        )
        x = found.x
        yield split(x)


def descent(case: Case, num: int, seed: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Normalised gradient descent on W and H from a small start, at powers of 10^½ updates."""
    vocab_size, num_contexts = case.problem.support.shape
    rng = np.random.default_rng(seed)
    shapes = (vocab_size, vocab_size), (vocab_size, num_contexts)
    embeddings = tuple(jnp.asarray(START * rng.standard_normal(shape)) for shape in shapes)
    slope = jax.grad(partial(loss_of, case), argnums=(0, 1))

    @jax.jit
    def advance(embeddings: Any, first: Array, last: Array) -> Any:
        def update(step: Array, embeddings: Any) -> Any:
            grads = slope(*embeddings)
            size = jnp.sqrt(sum(jnp.square(grad).sum() for grad in grads))
            rate = STEP / jnp.sqrt(step + 1.0) / size
            return jax.tree.map(lambda x, grad: x - rate * grad, embeddings, grads)

        return jax.lax.fori_loop(first, last, update, embeddings)

    marks = np.unique((10 ** np.arange(2, np.log10(num) + 0.01, 0.5)).astype(int))
    for first, last in zip([0, *marks], marks, strict=False):
        embeddings = advance(embeddings, first, last)
        yield int(last), np.asarray(embeddings[0]), np.asarray(embeddings[1])


def geometry(case: Case, words: np.ndarray, contexts: np.ndarray) -> dict[str, float]:
    """Compare logits and embeddings with what theory predicts.

    ``cosine_N`` is of the part across F with the max-margin logits of the norm N, ``margin_N`` its
    margin over the largest at its norm; ``finite_error`` is the relative distance of the part in F
    from the log probabilities; ``collapse`` is the mean cosine of embeddings of contexts of one
    support, ``others`` of all other pairs.
    """
    problem, logits = case.problem, words @ contexts
    support = problem.support

    def centred(matrix: np.ndarray) -> np.ndarray:  # P_F for H = I
        mean = np.where(support, matrix, 0).sum(axis=0) / support.sum(axis=0)
        return np.where(support, matrix - mean, 0)

    finite = centred(problem.log_probs)
    across = logits - centred(logits)
    found: dict[str, float] = {
        "finite_error": float(np.linalg.norm(centred(logits) - finite) / np.linalg.norm(finite))
    }
    least = logit_margin(across, support).margin.min()
    for norm, best in case.margins.items():
        inner = (across * best.w).sum()
        sizes = np.linalg.norm(across) * np.linalg.norm(best.w)
        found[f"cosine_{norm}"] = float(inner / sizes)
        found[f"margin_{norm}"] = float(least / matrix_norm(across, norm) / best.margin)
    unit = contexts / np.linalg.norm(contexts, axis=0)
    cosines = unit.T @ unit
    alike = (support[:, :, None] == support[:, None]).all(axis=0)
    found["collapse"] = float(cosines[alike & ~np.eye(len(alike), dtype=bool)].mean())
    found["others"] = float(cosines[~alike].mean())
    found["lead"] = found["cosine_nuclear"] - found["cosine_frobenius"]
    return found


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """Both paths of one problem: curves along them, and what is true at their ends."""
    problem = problem_of(FIRST + seed)
    margins = {norm: max_margin(problem, norm, tolerance=1e-7) for norm in NORMS}
    case = Case(problem, margins)
    with float64():
        ridges = [geometry(case, *found) for found in ridge_path(case, RIDGES[scale], seed)]
        run = [(n, geometry(case, *found)) for n, *found in descent(case, UPDATES[scale], seed)]
    nuclear, frobenius = (margins[norm].w for norm in NORMS)
    proxy = (nuclear * frobenius).sum() / np.linalg.norm(nuclear) / np.linalg.norm(frobenius)
    yield Measured({}, {"proxy": float(proxy), "gap": margins["nuclear"].gap})
    powers = np.arange(1, len(ridges) + 1)
    for name, steps, found in (
        ("ridge", powers, ridges),
        ("descent", np.array([n for n, _ in run]), [g for _, g in run]),
    ):
        curves = {metric: np.array([one[metric] for one in found]) for metric in found[0]}
        yield Measured({"path": name}, found[-1], steps, curves)


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)
