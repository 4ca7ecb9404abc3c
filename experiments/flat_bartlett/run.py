"""Gradient covariance, Fisher matrix and Hessian along the training of three networks."""

import operator
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.flat_bartlett.matrices import Compared, compare
from experiments.harness.seeds import Measured, run_seeds
from experiments.harness.written_out import problem_of, small_bert, small_world, trained

# seeds of worlds and networks, and updates
SCALES = {"smoke": (2, 100), "cpu": (24, 10_000)}
NUM_SEEDS = {scale: worlds for scale, (worlds, _) in SCALES.items()}
MARKS = 12  # spaced like 1, 2, 4, ...
WIDE = {"width": 8, "position": "learned"}
# one that can fit everywhere, one that is too narrow, and one that is blind to word order
NARROW, BLIND = WIDE | {"width": 2}, WIDE | {"position": "none"}
NETWORKS = (WIDE, NARROW, BLIND)
PAPER_DIVERGENCE = 0.008  # nats: AdamW in Table 1, 3.204 over the entropy of 3.196
SETTLED = 0.1  # nats, below which the power of the divergence is fitted
WORDS, STATES, LENGTH, CONCENTRATION = 4, 4, 3, 0.3  # most words follow from the others


def of_network(network: Mapping[str, Any], seed: int, num_updates: int) -> Iterator[Measured]:
    """One network in one world."""
    problem = problem_of(small_world(WORDS, STATES, LENGTH, CONCENTRATION, seed))
    model = small_bert(WORDS, LENGTH, **network)
    start = jax.jit(model.init)(jax.random.key(seed))
    steps = np.unique(np.geomspace(1, num_updates, MARKS).round().astype(int))
    nets = trained(model, start, problem, jnp.asarray(steps), num_updates=num_updates)
    at_marks = [jax.tree.map(operator.itemgetter(i), nets) for i in range(len(steps))]
    looks = [compare(model, net, problem) for net in (start, *at_marks)]
    columns = zip(*looks, strict=True)
    seen = {name: np.array(c, float) for name, c in zip(Compared._fields, columns, strict=True)}
    yield Measured(network, numbers(seen), np.append(0, steps), seen)


def numbers(seen: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The first and last marks, the power of the divergence, and values at the paper's."""
    found = {name: float(values[-1]) for name, values in seen.items()}
    found["covariance_gap_at_start"] = float(seen["covariance_gap"][0])
    divergence = seen["divergence"]
    settled = (divergence > 0) & (divergence < SETTLED)
    for name in ("covariance", "fisher"):
        if settled.sum() >= 3:
            gaps = seen[f"{name}_gap"][settled]
            fitted = np.polyfit(np.log(divergence[settled]), np.log(gaps), 1)
            found[f"{name}_power"] = float(fitted[0])
        if divergence[-1] < PAPER_DIVERGENCE < divergence[0]:
            traces = seen[f"{name}_trace"]
            found[f"{name}_trace_at_paper"] = at(PAPER_DIVERGENCE, divergence, traces)
    return found


def at(divergence: float, divergences: np.ndarray, values: np.ndarray) -> float:
    """The value where a training last passes a divergence, interpolated in its logarithm."""
    after = int(np.flatnonzero(divergences > divergence)[-1]) + 1
    pair = slice(after - 1, after + 1)
    logs = np.log(divergences[pair])
    return float(np.interp(np.log(divergence), logs[::-1], values[pair][::-1]))


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """Every network."""
    jax.clear_caches()  # programs differ by world, and those of a dozen exhaust the memory maps
    for network in NETWORKS:
        yield from of_network(network, seed, SCALES[scale][1])


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)
