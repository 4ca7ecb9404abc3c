"""Many trials of every estimator, at the start of a training and near saturation."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
import scipy.stats
from jaxtyping import Float

from el_jax.types import Estimate, Key
from experiments.flat_estimators import network
from experiments.flat_estimators.estimators import (
    ESTIMATORS,
    Estimator,
)
from experiments.flat_estimators.network import Given
from experiments.harness.seeds import Measured, run_seeds
from experiments.harness.statistics import CONFIDENCE
from experiments.harness.written_out import problem_of, small_world


class Setting(NamedTuple):
    """The numbers of a scale: seeds, trials of each estimator and stage, updates."""

    num_seeds: int
    num_trials: int
    num_updates: int


SCALES = {
    "smoke": Setting(2, 10, 100),
    "cpu": Setting(16, 400, 3000),
}
NUM_SEEDS = {name: size.num_seeds for name, size in SCALES.items()}


def stages(seed: int, num_updates: int) -> dict[str, Given]:
    """A network before and after its training, in its own world."""
    problem = problem_of(
        small_world(network.WORDS, network.STATES, network.LENGTH, network.CONCENTRATION, seed)
    )
    start = jax.jit(network.MODEL.init)(jax.random.key(seed))
    end = network.trained(start, problem, num_updates=num_updates)
    return {"start": Given(problem, start, end), "saturated": Given(problem, end, start)}


@partial(jax.jit, static_argnames="estimate")
def trials(estimate: Callable[[Given, Key], Estimate], given: Given, keys: Key) -> Estimate:
    """The estimate of each key."""
    return jax.lax.map(lambda key: estimate(given, key), keys)


def of_network(given: Given, stage: str, exact: network.Exact) -> Measured:
    """The network's exact numbers."""
    numbers = {name: float(value) for name, value in exact._asdict().items()}
    numbers["fisher_gap"] = abs(numbers["fisher"] / numbers["hessian"] - 1)
    numbers["parameters"] = float(sum(leaf.size for leaf in jax.tree.leaves(given.params)))
    return Measured({"stage": stage}, numbers)


def of_estimator(
    name: str, stage: str, given: Given, exact: network.Exact, key: Key, num_trials: int
) -> Measured:
    """Bias, spread, stated errors and error at equal cost."""
    estimator = ESTIMATORS[name]
    found = trials(estimator.estimate, given, jax.random.split(key, num_trials))
    truth = float(getattr(exact, estimator.exact))
    return Measured({"estimator": name, "stage": stage}, quality(found, truth, estimator))


def quality(found: Estimate, truth: float, estimator: Estimator) -> dict[str, float]:
    """An estimator's numbers over trials, errors over the truth.

    Args:
        found: the estimates of all trials, ``[trials]``.
        truth: the exact value.
        estimator: the estimator, with its cost and degrees of freedom.
    """
    errors: Float[np.ndarray, " trials"] = np.asarray(found.mean, float) - truth
    stated = np.asarray(found.sem, float)
    size = np.sqrt(np.square(errors).mean())
    at_cost = size / abs(truth) * np.sqrt(estimator.price / ESTIMATORS["Hutchinson"].price)
    half = scipy.stats.t.ppf((1 + CONFIDENCE) / 2, estimator.freedom)
    return {
        "bias": float(errors.mean() / abs(truth)),
        "spread": float(errors.std(ddof=1) / abs(truth)),
        "stated": float(np.sqrt(np.square(stated).mean()) / size),
        "within_3": float((np.abs(errors) <= 3 * stated).mean()),
        "coverage": float((np.abs(errors) <= half * stated).mean()),
        "error_at_cost": float(at_cost),
        "log_error": float(np.log(at_cost)),
    }


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """One network: its exact traces, and each estimator, at both stages."""
    setting = SCALES[scale]
    made = stages(seed, setting.num_updates)
    exact = {stage: network.exact_traces(given) for stage, given in made.items()}
    for stage, given in made.items():
        yield of_network(given, stage, exact[stage])
    for i, name in enumerate(ESTIMATORS):
        key = jax.random.fold_in(jax.random.key(seed), i)
        for place, (stage, given) in enumerate(made.items()):
            at = jax.random.fold_in(key, place)
            yield of_estimator(name, stage, given, exact[stage], at, setting.num_trials)


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)
