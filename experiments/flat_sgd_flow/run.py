"""The trace of the Hessian under SGD, and under the flow that theory predicts."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from el_jax.curvature import Hessian
from el_jax.process.double_precision import float64
from experiments.flat_sgd_flow import drift, network, product
from experiments.flat_sgd_flow.drift import Seen
from experiments.flat_sgd_flow.network import Contexts, Net
from experiments.harness.seeds import Measured, run_seeds
from experiments.harness.written_out import small_world


class Setting(NamedTuple):
    """The numbers of a scale.

    Attributes:
        num_seeds: batches of paths of the product model, and worlds with a network each.
        rates: η, of both models.
        batches: B.
        paths: independent paths of the product model, for each seed.
        noises: independent noises of a network.
        length: T of the world.
        width: M of the network.
        duration: rescaled time η² k / B of a network's path.
    """

    num_seeds: int
    rates: tuple[float, ...]
    batches: tuple[int, ...]
    paths: int
    noises: int
    length: int
    width: int
    duration: float


class Course(NamedTuple):
    """Means over noises at every mark of a path, as in ``Seen``, each ``[S]``."""

    trace: Float[np.ndarray, " S"]
    slope: Float[np.ndarray, " S"]
    divergence: Float[np.ndarray, " S"]


SCALES = {
    "smoke": Setting(2, (0.2, 0.1), (1, 2), 50, 4, 2, 8, 1.2),
    "cpu": Setting(8, (0.1, 0.05, 0.025), (1, 2, 4), 1000, 32, 2, 16, 6.0),
}
NUM_SEEDS = {name: size.num_seeds for name, size in SCALES.items()}
NETWORK = {"model": "network"}
FULL = NETWORK | {"descent": "full"}  # without noise
STATES, WORDS, CONCENTRATION = 3, 3, 3.0  # of the world; its laws are far from 0 and 1
SCALE = 1.0  # of the first layer at the start
TRAINING = 1500  # steps of Adam
MARKS = 10  # points at which a path is measured
SETTLED = 2  # marks after which the noise has settled
FLOW_STEPS = 10  # steps of the flow per mark
NULL = 1e-9  # share of the largest eigenvalue below which one counts as 0


# ---- the product model -------------------------------------------------------------------------


def of_product(scale: Setting, seed: int) -> Iterator[Measured]:
    """Rates at which D falls, for every η and B, and the relations between them."""
    rates = {}
    with float64():
        for i, rate in enumerate(scale.rates):
            for batch in scale.batches:
                key = jax.random.fold_in(jax.random.key(seed), i * 100 + batch)
                every = round(product.time_constant(rate, batch) / MARKS)
                ratios = np.asarray(
                    product.simulate(
                        key, rate, every, batch=batch, num_paths=scale.paths, num_marks=MARKS
                    )
                )
                steps = every * np.arange(MARKS + 1)
                expected = product.predicted(rate, batch, steps)
                rates[rate, batch] = float(np.log(ratios[-1]) / np.log(expected[-1]))
                yield Measured(
                    {"model": "product", "rate": rate, "batch": batch},
                    {"rate_ratio": rates[rate, batch], "final": float(ratios[-1])},
                    steps,
                    {"distance": ratios, "predicted": expected},
                )
    for batch in scale.batches:
        errors = [abs(rates[rate, batch] - 1) for rate in scale.rates]
        order = np.polyfit(np.log(scale.rates), np.log(errors), 1)[0]
        yield Measured({"model": "product", "batch": batch}, {"error_order": float(order)})
    yield from doublings("product", rates)


def doublings(model: str, ratios: dict[tuple[float, int], float]) -> Iterator[Measured]:
    """The factor by which the rate per step falls when B doubles, for every η.

    Args:
        model: its name.
        ratios: rates per step over η² / B times a constant, by η and B.
    """
    for rate in dict.fromkeys(rate for rate, _ in ratios):
        batches = [batch for at, batch in ratios if at == rate]
        of_steps = [ratios[rate, batch] / batch for batch in batches]
        if min(of_steps) > 0:
            slope = np.polyfit(np.log2(batches), np.log2(of_steps), 1)[0]
            yield Measured({"model": model, "rate": rate}, {"doubling": float(2**-slope)})


# ---- the network -------------------------------------------------------------------------------


def of_network(scale: Setting, seed: int) -> Iterator[Measured]:
    """One world and network: its minimum, SGD from there at every η and B, and a control."""
    with float64():
        world = small_world(WORDS, STATES, scale.length, CONCENTRATION, seed)
        given = network.contexts_of(world)
        start_key, noise_key = jax.random.split(jax.random.key(seed))
        net = network.trained(start_key, given, width=scale.width, scale=SCALE, num_steps=TRAINING)
        flow = np.asarray(
            drift.predicted_traces(
                net, given, scale.duration, num_marks=MARKS, steps_per_mark=FLOW_STEPS
            )
        )
        yield Measured(NETWORK, of_minimum(net, given) | {"final_trace": float(flow[-1])})
        ratios = {}
        for i, rate in enumerate(scale.rates):
            for batch in scale.batches:
                key = jax.random.fold_in(noise_key, i * 100 + batch)
                measured, states = noisy_path(net, given, flow, key, rate, batch, scale)
                ratios[rate, batch] = measured.numbers["fall_ratio"]
                yield measured
                if (rate, batch) == (min(scale.rates), min(scale.batches)):
                    yield without_noise(states, given, flow, rate, batch, scale)
    yield from doublings("network", ratios)


@jax.jit
def _curvature(net: Net, given: Contexts) -> tuple[Array, Array]:
    """The eigenvalues of the Hessian, ascending, and its trace coordinate by coordinate."""

    def loss(net: Net) -> Array:
        return network.divergence(net, given)

    hessian = Hessian(loss, net)
    return jnp.linalg.eigvalsh(hessian.dense()), hessian.exact_trace(chunk=64)


def of_minimum(net: Net, given: Contexts) -> dict[str, float]:
    """The theorem's conditions on the start, and its prediction there."""
    seen = means(jax.tree.map(lambda leaf: leaf[None], net), given)
    eigenvalues, exact = map(np.asarray, _curvature(net, given))
    above = eigenvalues > NULL * eigenvalues[-1]
    tangent = eigenvalues.size - network.log_odds(net, given).size
    return {
        "divergence": float(seen.divergence),
        "trace": float(seen.trace),
        "slope": float(seen.slope),
        "hessian_ratio": float(exact / seen.trace),
        "parameters": float(eigenvalues.size),
        "tangent_dimensions": float(tangent),
        "missing_rank": float(eigenvalues.size - tangent - above.sum()),
        "least_eigenvalue": float(eigenvalues[tangent]),
        "largest_eigenvalue": float(eigenvalues[-1]),
    }


def noisy_path(
    net: Net,
    given: Contexts,
    flow: np.ndarray,
    key: Array,
    rate: float,
    batch: int,
    scale: Setting,
) -> tuple[Measured, Net]:
    """SGD from a minimum with many noises: means at every mark, and the nets once settled."""
    every = steps_per_mark(scale, rate, batch)
    nets = jax.tree.map(lambda x: jnp.tile(x, (scale.noises, *[1] * x.ndim)), net)
    keys = jax.random.split(key, scale.noises)
    seen, settled = [means(nets, given)], nets
    for mark in range(MARKS):
        of_mark = jax.vmap(jax.random.fold_in, (0, None))(keys, mark)
        nets = drift.stochastic_descent(nets, of_mark, given, rate, every, batch=batch)
        seen.append(means(nets, given))
        settled = nets if mark + 1 == SETTLED else settled
    path = Course(*map(np.array, zip(*seen, strict=True)))
    numbers = path_numbers(path, flow, rate / (4 * batch), scale.duration / MARKS)
    numbers["rescaled_time"] = rate**2 * every * MARKS / batch
    curves = {"trace": path.trace, "predicted": flow, "divergence": path.divergence}
    steps = every * np.arange(MARKS + 1)
    where = NETWORK | {"rate": rate, "batch": batch}
    return Measured(where, numbers, steps, curves), settled


def means(nets: Net, given: Contexts) -> Seen:
    """Measurements of nets, their means."""
    return jax.tree.map(lambda values: np.asarray(values).mean(), drift.measured(nets, given))


def path_numbers(
    path: Course, flow: Float[np.ndarray, " S"], noise: float, time: float
) -> dict[str, float]:
    """Ratios of means over noises to the theory's predictions; 1 if it is right.

    Args:
        path: what was seen at every mark.
        flow: traces of the flow from the same start.
        noise: η/(4B), the loss above the entropy over the trace once the noise has settled.
        time: rescaled time between marks.
    """
    late = Course(*(column[SETTLED:] for column in path))
    half = len(late.divergence) // 2
    return {
        "fall_ratio": float((flow[0] - path.trace[-1]) / (flow[0] - flow[-1])),
        "slope_ratio": float((late.trace[0] - late.trace[-1]) / np.trapezoid(late.slope, dx=time)),
        "loss_ratio": float((late.divergence / late.trace).mean() / noise),
        "loss_change": float(late.divergence[half:].mean() / late.divergence[:half].mean()),
    }


def without_noise(
    nets: Net, given: Contexts, flow: np.ndarray, rate: float, batch: int, scale: Setting
) -> Measured:
    """Continue from SGD's nets with the same steps, but with the gradient of the whole loss."""
    every = steps_per_mark(scale, rate, batch)
    traces = [means(nets, given).trace]
    for _ in range(SETTLED, MARKS):
        nets = drift.full_descent(nets, given, rate, every)
        traces.append(means(nets, given).trace)
    numbers = {"fall_ratio": float((traces[0] - traces[-1]) / (flow[SETTLED] - flow[-1]))}
    steps = every * np.arange(SETTLED, MARKS + 1)
    return Measured(FULL, numbers, steps, {"trace": np.array(traces)})


def steps_per_mark(scale: Setting, rate: float, batch: int) -> int:
    """Steps that take a mark's share of the rescaled time."""
    return round(scale.duration / MARKS * batch / rate**2)


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """The two models."""
    setting = SCALES[scale]
    yield from of_product(setting, seed)
    yield from of_network(setting, seed)


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)
