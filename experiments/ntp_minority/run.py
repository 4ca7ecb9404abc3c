"""Gradient flow of logistic regression on a majority and a minority, to a time of 10^20.

An example has causal features r with one that is always right, and a spurious one: a times that one
in the majority, b times it in the minority. α is the least margin of the minority when the majority
alone is separated with the max margin, as a share of that margin; b is chosen so that α is given.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
from jaxtyping import Float
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import expit

from el_jax.linear_ntp import NTPProblem, max_margin
from experiments.harness.seeds import Measured, run_seeds

GROUPS = {"majority": 30, "minority": 10}  # examples
DIM, SPURIOUS = 12, 1.0  # d, the last input being the spurious feature; a
ALPHAS, SHARES = (0.4, 0.7, 1.4, 2.0), (0.01, 0.1)  # α, and the weight ε of the minority
NUM_SEEDS = {"smoke": 2, "cpu": 20}
LAST = {"smoke": 6, "cpu": 20}  # log10 of the last time
DECADES = 4  # over which exponents are fitted
FIRST = 100  # problem of seed 0; problems 0 to 2 were looked at while this was written

Examples = Float[np.ndarray, "n d"]  # times their labels, so that w x is the margin


def causal(rng: np.random.Generator, num: int) -> Examples:
    """Causal features of a group: the first is between .5 and 1.5, the others are noise."""
    right = rng.uniform(0.5, 1.5, (num, 1))
    return np.hstack([right, rng.standard_normal((num, DIM - 2))])


def with_spurious(features: Examples, factor: float) -> Examples:
    """The features with the spurious one, ``factor`` times the one that is right."""
    return np.hstack([features, factor * features[:, :1]])


def separator(examples: Examples) -> Float[np.ndarray, "d"]:
    """The shortest w with a margin of 1 on every example."""
    probs = np.array([[1.0], [0.0]]).repeat(len(examples), axis=1)  # a context each, one next token
    problem = NTPProblem(examples.T, np.full(len(examples), 1 / len(examples)), probs)
    w = max_margin(problem).w
    difference = w[0] - w[1]
    return difference / (examples @ difference).min()


def groups_of(seed: int, alpha: float) -> tuple[Examples, Examples]:
    """The majority, and the minority with this α."""
    rng = np.random.default_rng(seed)
    majority = with_spurious(causal(rng, GROUPS["majority"]), SPURIOUS)
    features = causal(rng, GROUPS["minority"])
    w = separator(majority)

    def excess(factor: float) -> float:
        return float((with_spurious(features, factor) @ w).min()) - alpha

    return majority, with_spurious(features, brentq(excess, -1e3, 1e3))


def flow(
    examples: Examples, weights: Float[np.ndarray, "n"], last: float, num: int
) -> tuple[Float[np.ndarray, "num"], Float[np.ndarray, "num n"]]:
    """Times, evenly spaced in log t, and the margins of gradient flow of the logistic loss there.

    Integrated in log(1 + t), in which the weights move about evenly.
    """
    times = np.logspace(0, last, num)

    def velocity(tau: float, w: np.ndarray) -> np.ndarray:
        return np.exp(tau) * (weights * expit(-examples @ w)) @ examples

    def slopes(tau: float, w: np.ndarray) -> np.ndarray:
        wrong = expit(-examples @ w)
        return -np.exp(tau) * examples.T @ ((weights * wrong * (1 - wrong))[:, None] * examples)

    taus = np.log1p(times)
    found = solve_ivp(
        velocity,
        (0.0, taus[-1]),
        np.zeros(examples.shape[1]),
        "BDF",
        taus,
        jac=slopes,
        rtol=1e-9,
        atol=1e-11,
    )
    if not found.success:
        raise RuntimeError(f"the flow could not be integrated: {found.message}")
    return times, (examples @ found.y).T


def of_problem(scale: str, seed: int, alpha: float) -> Iterator[Measured]:
    """Errors of both groups at one α, for each share of the minority."""
    groups = groups_of(FIRST + seed, alpha)
    sizes = [*GROUPS.values()]
    ends: dict[float, float] = {}
    for share in SHARES:
        weights = np.repeat([(1 - share) / sizes[0], share / sizes[1]], sizes)
        per_decade = 4
        num = per_decade * LAST[scale] + 1
        times, margins = flow(np.vstack(groups), weights, LAST[scale], num)
        wrong = expit(-margins)  # mean probability of the wrong label is the error
        errors = dict(zip(GROUPS, (wrong[:, : sizes[0]], wrong[:, sizes[0] :]), strict=True))
        numbers, curves = {}, {}
        for name, of_examples in errors.items():
            course = np.log10(of_examples.mean(axis=1))
            late = slice(-per_decade * DECADES - 1, None)
            numbers[f"{name}_exponent"] = -np.polyfit(np.log10(times)[late], course[late], 1)[0]
            curves[f"{name}_log_error"] = course[::per_decade]
        numbers["excess"] = numbers["minority_exponent"] - max(1.0, alpha)
        ends[share] = float(curves["minority_log_error"][-1])
        decades = np.arange(LAST[scale] + 1)
        yield Measured({"alpha": alpha, "share": share}, numbers, decades, curves)
    few, many = SHARES
    by_share = (ends[few] - ends[many]) / np.log10(many / few)
    yield Measured({"alpha": alpha}, {"power_of_share": by_share})


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """One problem at every α."""
    for alpha in ALPHAS:
        yield from of_problem(scale, seed, alpha)


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)
