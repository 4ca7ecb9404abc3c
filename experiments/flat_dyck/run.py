"""Traces and downstream errors of section 6's solutions and of trained nets."""

import functools
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
import scipy.stats
from jaxtyping import Float

from el_jax.curvature import Hessian
from el_jax.process.double_precision import float64
from el_jax.worlds import Dyck
from el_jax.worlds.dyck import BracketInputs
from experiments.flat_dyck import model, solutions, transfer
from experiments.flat_dyck.model import Net
from experiments.flat_dyck.training import TRAININGS, train
from experiments.harness.seeds import Measured, run_seeds
from experiments.harness.tables import Where

LENGTHS = {"smoke": (4,), "cpu": (4, 6, 8, 10)}
NUM_SEEDS = {"smoke": 2, "cpu": 5}
SLOW_LENGTH, SLOW_SEEDS = 10, 1  # 5,040 random features: half a minute a seed
HESSIAN_LENGTH = 6  # the longest for which autodiff computes the Hessian's trace
# length, widths and steps of the trained nets
TRAINED = {
    "smoke": (4, (8,), 100),
    "cpu": (4, (8, 24, 64), 1500),
}
SAMPLES = (2, 5, 10, 20)
FEW, MANY = 100, 500  # draws of samples
ENUMERATED = {4: 3, 6: 2}  # length: the largest entry of v
BALANCE, KINKED, RANDOM = "balance neurons", "kinked neurons", "random features"
TOKENS = "tokens"
FITS = 1e-10  # squared error that counts as zero pre-training loss
NEARBY = 1e-6  # standard deviation of a step off the kinks


class Data(NamedTuple):
    """Every input of one length."""

    length: int
    masked: BracketInputs
    downstream: BracketInputs


@functools.cache
def data(length: int) -> Data:
    """Every masked and every downstream input."""
    world = Dyck(length)
    return Data(length, world.masked_inputs(), world.downstream_inputs())


_features = jax.jit(jax.vmap(model.features, (None, 0)))
_squared_gradient = jax.jit(model.squared_gradient, static_argnames="kink")


@jax.jit
def _hessian_trace(net: Net, masked: BracketInputs) -> jax.Array:
    return Hessian(lambda net: model.squared_error(net, masked), net).exact_trace(chunk=16)


def read(net: Net, given: Data) -> Float[np.ndarray, "n m"]:
    """The features of every downstream input."""
    return np.asarray(_features(net, given.downstream.inputs))


def flatness(net: Net, given: Data) -> dict[str, float]:
    """Loss, and traces over the bound."""
    squares = _squared_gradient(net, given.masked.inputs)
    bound = solutions.least_trace(given.length)
    return {
        "loss": float(model.squared_error(net, given.masked)),
        "trace_ratio": float(model.trace(squares)) / bound,
        "rescaled_ratio": float(model.rescaled_trace(squares)) / bound,
    }


def hessian_ratio(net: Net, given: Data) -> float:
    """The trace of the loss's Hessian by automatic differentiation, over the bound."""
    return float(_hessian_trace(net, given.masked)) / solutions.least_trace(given.length)


def nearby(net: Net, seed: int) -> Net:
    """The net after a tiny random step of every parameter."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: leaf + NEARBY * rng.standard_normal(leaf.shape), net)


def rounded_ratio(net: Net, given: Data) -> float:
    """The trace over the bound if rounding decides which neurons at a kink are on."""
    squares = _squared_gradient(net, given.masked.inputs, kink=0.0)
    return float(model.trace(squares)) / solutions.least_trace(given.length)


def downstream(
    where: Where, features: np.ndarray, given: Data, seed: int, *, num_draws: int
) -> Measured:
    """The best head on some features, and heads fitted to samples, by number of samples."""
    answers = given.downstream.answers
    found = [
        transfer.from_samples(features, answers, num_samples=n, num_draws=num_draws, seed=seed)
        for n in SAMPLES
    ]
    curves = {name: np.array([getattr(each, name) for each in found]) for name in found[0]._fields}
    numbers = {"best_error": transfer.best_error(features, answers)}
    numbers |= {
        f"{name}_n{n}": float(value)
        for name, values in curves.items()
        for n, value in zip(SAMPLES, values, strict=True)
    }
    return Measured(where, numbers, np.array(SAMPLES), curves)


def constructed(name: str, length: int, seed: int) -> Iterator[Measured]:
    """Solution 1 or the kinked neurons; results independent of samples only with seed 0."""
    given, where = data(length), {"net": name, "length": length}
    with float64():
        net = {BALANCE: solutions.transferable, KINKED: solutions.kinked}[name](length)
        measured = downstream(where, read(net, given), given, seed, num_draws=MANY)
        numbers = dict(measured.numbers)
        if name == BALANCE:
            numbers |= {
                f"probability_gap_n{n}": numbers[f"share_exact_n{n}"]
                - transfer.exact_probability(length, n)
                for n in SAMPLES
            }
        if seed == 0:
            numbers |= flatness(net, given) | {"rounded_ratio": rounded_ratio(net, given)}
            if length <= HESSIAN_LENGTH:
                numbers["hessian_ratio"] = hessian_ratio(net, given)
        if length <= HESSIAN_LENGTH and (name == KINKED or seed == 0):
            numbers["nearby_ratio"] = hessian_ratio(nearby(net, seed), given)
    yield measured._replace(numbers=numbers)


def on_random_features(length: int, seed: int) -> Iterator[Measured]:
    """Solution 2 with as many neurons as inputs; also a head on the tokens themselves."""
    given = data(length)
    tokens = given.downstream.inputs.mean(axis=1)
    where = {"length": length}
    yield downstream(where | {"net": TOKENS}, tokens, given, seed, num_draws=FEW)
    with float64():
        net = solutions.random_features(given.masked, len(given.masked.inputs), seed)
        features = read(net, given)
        measured = downstream(where | {"net": RANDOM}, features, given, seed, num_draws=FEW)
        yield measured._replace(numbers={**measured.numbers, **flatness(net, given)})


def enumerated(length: int, largest: int) -> Iterator[Measured]:
    """The neurons of nets with the least trace, by family."""
    found = solutions.flattest_neurons(length, largest)
    families = [solutions.family(*row) for row in zip(found.brackets, found.masks, strict=True)]
    counts = {
        name: float(sum(n for n, of in zip(found.signs, families, strict=True) if of == name))
        for name in ("i", "ii", "iii", "iv", "")
    }
    numbers = {f"neurons_{name or 'other'}": count for name, count in counts.items()}
    reading = (counts["i"] + counts["ii"]) / sum(counts.values())
    yield Measured({"length": length}, numbers | {"share_reading_balance": reading})


def trained(scale: str, seed: int) -> Iterator[Measured]:
    """Every width and training from one start, and the correlation of trace and error."""
    length, widths, num_steps = TRAINED[scale]
    rows: dict[str, list[dict[str, float]]] = {}
    for name in TRAININGS:
        for width in widths:
            where = {"net": name, "length": length, "width": width}
            with float64():
                net = train(
                    jax.random.key(seed),
                    data(length).masked,
                    TRAININGS[name],
                    num_neurons=width,
                    num_steps=num_steps,
                )
                measured = of_trained(where, net, seed)
            rows.setdefault(name, []).append(dict(measured.numbers))
            yield measured
    for name, numbers in rows.items():
        yield Measured({"net": name}, over_widths(numbers))
    every = [row for numbers in rows.values() for row in numbers]
    unpenalised = rows["plain"] + rows["label noise"]
    yield Measured({"net": "trained"}, rank_correlations(every))
    yield Measured({"net": "trained without penalty"}, rank_correlations(unpenalised))


def of_trained(where: Where, net: Net, seed: int) -> Measured:
    """Flatness of one net and its errors downstream."""
    given = data(net.values.shape[1] // 2)
    features, answers = read(net, given), given.downstream.answers
    found = transfer.from_samples(features, answers, num_samples=20, num_draws=FEW, seed=seed)
    numbers = flatness(net, given)
    numbers["fits"] = float(numbers["loss"] <= FITS)
    numbers["best_error"] = transfer.best_error(features, answers)
    return Measured(where, numbers | {"median_n20": found.median})


def over_widths(rows: list[dict[str, float]]) -> dict[str, float]:
    """Means over the nets that fit, and their share."""
    fitting = [row for row in rows if row["fits"]]
    means = {
        name: float(np.mean([row[name] for row in fitting]))
        for name in ("trace_ratio", "rescaled_ratio", "best_error", "median_n20")
        if fitting
    }
    return means | {"fits": len(fitting) / len(rows)}


def rank_correlations(rows: list[dict[str, float]]) -> dict[str, float]:
    """Spearman's correlation of trace and error over the nets that fit; errors of 0 are ties."""
    fitting = [row for row in rows if row["fits"]]
    if len(fitting) < 3:
        return {}
    traces = [row["trace_ratio"] for row in fitting]
    found = {}
    for name in ("best_error", "median_n20"):
        errors = [max(row[name], transfer.EXACT) for row in fitting]
        if len(set(errors)) > 1:
            correlation = scipy.stats.spearmanr(traces, errors).statistic
            found[f"rank_correlation_{name}"] = float(correlation)
    return found


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """The parts of one seed: samples, random features and starts of training."""
    for length in LENGTHS[scale]:
        for name in (BALANCE, KINKED):
            yield from constructed(name, length, seed)
        if length < SLOW_LENGTH or seed < SLOW_SEEDS:
            yield from on_random_features(length, seed)
        if seed == 0 and length in ENUMERATED:
            yield from enumerated(length, ENUMERATED[length])
    yield from trained(scale, seed)


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)
