"""Geometry of the max-margin and the finite decoder in the plane, and gradient descent to both."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from jaxtyping import Bool, Float64

from el_jax.linear_ntp import (
    NTPProblem,
    Trajectory,
    entropy_lower_bound,
    figure1_problem,
    finite_component,
    run_trajectory,
    smoothness_bound,
)
from el_jax.linear_ntp.solvers.max_margin import MaxMargin, max_margin
from experiments.harness.seeds import Measured, run_seeds

SUBSTITUTE, CIRCLE, GAUSSIAN = "substitute", "circle", "gaussian"
NUM_RANDOM = {"smoke": 2, "cpu": 60}
NUM_STEPS = {"smoke": 1_000, "cpu": 100_000}
NUM_MARKS = 37  # about seven a decade
CURVES = ("excess_loss", "cosine_frobenius", "finite_error")  # drawn in the figure
TWINS, LONE_WORD = [0, 4], 2  # words 1 and 5 follow the same two contexts, word 3 follows one
APART = 1e-3  # least distance of the twins, relative to the whole matrix, that counts as apart
LEAST_WIDER = 1e-9  # radians; where cones differ by less, none is wider


def random_like(support: Bool[np.ndarray, "5 3"], seed: int, *, circle: bool) -> NTPProblem:
    """Embeddings drawn until they positively span the plane, and uniform probabilities.

    Args:
        support: True where the word follows the context.
        seed: draws embeddings, again while they lie in a half plane, then probabilities.
        circle: embeddings are unit vectors; otherwise they are standard normal.
    """
    rng = np.random.default_rng(seed)
    embeddings = rng.standard_normal((2, 3))
    while not _positively_span(embeddings):
        embeddings = rng.standard_normal((2, 3))
    if circle:
        embeddings /= np.linalg.norm(embeddings, axis=0)
    probs = np.zeros(support.shape)
    for context in range(3):
        probs[support[:, context], context] = rng.dirichlet(np.ones(3))
    return NTPProblem(embeddings, np.full(3, 1 / 3), probs)


def _positively_span(embeddings: Float64[np.ndarray, "2 3"]) -> bool:
    """True if 0 lies inside the triangle, that is if the null vector of H has one sign."""
    null = np.linalg.svd(embeddings)[2][-1]
    return bool((null > 0).all() or (null < 0).all())


def geometry(
    problem: NTPProblem, w_mm: Float64[np.ndarray, "V d"], finite: Float64[np.ndarray, "V d"]
) -> dict[str, float]:
    """The paper's claims on the two matrices, as numbers."""
    contexts = {z: np.flatnonzero(problem.support[z]) for z in range(problem.vocab_size)}
    lone_context = problem.embeddings[:, contexts[LONE_WORD][0]]
    cones = {z: problem.embeddings[:, c] for z, c in contexts.items() if len(c) == 2}
    lengths = np.linalg.norm(w_mm, axis=1)
    coefficients = [
        np.linalg.solve(cone, w_mm[z]) * np.linalg.norm(cone, axis=0) / lengths[z]
        for z, cone in cones.items()
    ]
    # twins share a cone, which would count twice, so they count as one word
    distinct = [z for z in cones if z != TWINS[1]]
    width = np.arccos([_cosine(*cones[z].T) for z in distinct])
    first, second = np.triu_indices(len(distinct), 1)
    sole = [distinct.index(z) for z in distinct if z not in TWINS]
    longer = np.sign(lengths[distinct][first] - lengths[distinct][second])
    agrees = np.where(longer == np.sign(width[first] - width[second]), 1.0, 0.0)
    of_sole = np.isin(first, sole) & np.isin(second, sole)
    order = (
        {}
        if np.ptp(width) < LEAST_WIDER
        else {
            "wider_is_longer": float(agrees.mean()),
            "wider_is_longer_untwinned": float(agrees[of_sole].mean()),
        }
    )
    return order | {
        "twin_distance_max_margin": _twin_distance(w_mm),
        "twin_distance_finite": _twin_distance(finite),
        "twins_coincide": float(_twin_distance(w_mm) < APART < _twin_distance(finite)),
        "lone_word_cosine": _cosine(w_mm[LONE_WORD], lone_context),
        "least_cone_coefficient": float(np.min(coefficients)),
        "words_in_cone": float(np.min(coefficients) >= 0),
        "widest_cone_degrees": float(np.rad2deg(width.max())),
        "inner_product": abs(_cosine(w_mm, finite)),
    }


def _twin_distance(w: Float64[np.ndarray, "V d"]) -> float:
    return float(np.linalg.norm(w[TWINS[0]] - w[TWINS[1]]) / np.linalg.norm(w))


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.sum(a * b) / (np.linalg.norm(a) * np.linalg.norm(b)))


def descent(trajectory: Trajectory, finite: Float64[np.ndarray, "V d"]) -> dict[str, float]:
    """The end of gradient descent, and the change in its distances over the last decade."""
    metrics, last = trajectory.metrics, trajectory.steps[-1]
    before = int(np.abs(trajectory.steps - last / 10).argmin())
    angle, error = 1 - metrics["cosine_frobenius"], metrics["finite_error"]
    return {
        "gd_excess_loss": metrics["excess_loss"][-1],
        "gd_norm": metrics["norm"][-1],
        "gd_cosine": metrics["cosine_frobenius"][-1],
        "gd_margin_ratio": metrics["margin_ratio_frobenius"][-1],
        "gd_finite_error": error[-1] / np.linalg.norm(finite),
        "gd_angle_over_decade": angle[-1] / angle[before],
        "gd_error_over_decade": error[-1] / error[before],
    }


def drawn(problem: NTPProblem, w_mm: np.ndarray, finite: np.ndarray) -> Iterator[Measured]:
    """The substitute's numbers for the figure; the index of a context or word is its step."""
    contexts = {"x": problem.embeddings[0], "y": problem.embeddings[1]}
    contexts |= {f"word {z + 1}": row for z, row in enumerate(problem.next_token_probs)}
    words = {"W_mm x": w_mm[:, 0], "W_mm y": w_mm[:, 1], "W* x": finite[:, 0], "W* y": finite[:, 1]}
    for what, columns in {"contexts": contexts, "words": words}.items():
        places = np.arange(1, len(next(iter(columns.values()))) + 1)
        yield Measured({"problem": SUBSTITUTE, "drawn": what}, {}, places, columns)


def solve(kind: str, problem: NTPProblem, num_steps: int) -> Iterator[Measured]:
    """Both matrices of one problem, and gradient descent on its way to them."""
    margin: MaxMargin = max_margin(problem)
    finite = finite_component(problem)
    step_size = 1 / smoothness_bound(problem)
    trajectory = run_trajectory(
        problem, "gd", step_size, num_steps, num_marks=NUM_MARKS, w_mm={"frobenius": margin.w}
    )
    numbers = geometry(problem, margin.w, finite) | descent(trajectory, finite)
    numbers |= {"entropy": entropy_lower_bound(problem), "margin": margin.margin}
    after = trajectory.steps > 0
    curves = {name: trajectory.metrics[name][after] for name in CURVES}
    yield Measured({"problem": kind}, numbers, trajectory.steps[after], curves)
    if kind == SUBSTITUTE:
        yield from drawn(problem, margin.w, finite)


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """Random problems with the supports of the drop-in substitute, and with seed 0 itself."""
    substitute = figure1_problem()
    if seed == 0:
        yield from solve(SUBSTITUTE, substitute, NUM_STEPS[scale])
    for kind in (CIRCLE, GAUSSIAN):
        problem = random_like(substitute.support, seed, circle=kind == CIRCLE)
        yield from solve(kind, problem, NUM_STEPS[scale])


run = partial(run_seeds, num_seeds=NUM_RANDOM, measure=measure)
