"""Two-layer ReLU networks on separable data, and their margins in the norms of four optimizers."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from el_jax.linear_ntp.theory.directions import polar_factor, unit
from el_jax.linear_ntp.theory.trajectory import log_spaced_marks
from el_jax.process.double_precision import float64
from experiments.harness.seeds import Measured, run_seeds

NUM_EXAMPLES, DIM, WIDTH, NUM_CLASSES = 24, 8, 24, 4
START = 0.1  # standard deviation of the first weights
UPDATES = {"smoke": 300, "cpu": 10_000}
NUM_SEEDS = {"smoke": 2, "cpu": 20}
FIRST = 100  # problem of seed 0; problems 0 to 2 were looked at while this was written
MARKS = 13

Layers = tuple[Array, Array]  # [WIDTH, DIM] and [NUM_CLASSES, WIDTH]
Shape = Callable[[Layers], Layers]


def _unit(gradients: Layers) -> Layers:
    first, second = gradients
    both = unit(jnp.concatenate([first.ravel(), second.ravel()])[None])[0]
    return both[: first.size].reshape(first.shape), both[first.size :].reshape(second.shape)


def _each(first: Callable[[Array], Array], second: Callable[[Array], Array]) -> Shape:
    return lambda gradients: (first(gradients[0]), second(gradients[1]))


class Method(NamedTuple):
    """A method with memory or none, whose n-th step has a length of ``step`` / √n.

    Attributes:
        transform: maps gradients to the change.
        step: η.
        norm: the norm of all weights in which it is steepest descent.
    """

    transform: optax.GradientTransformation
    step: float
    norm: str


def _steepest(shape: Shape, step: float, norm: str) -> Method:
    return Method(optax.stateless(lambda gradients, _: shape(gradients)), step, norm)


METHODS = {
    "normalised GD": _steepest(_unit, 0.3, "Frobenius"),
    "sign descent": _steepest(_each(jnp.sign, jnp.sign), 0.03, "max"),
    "spectral": _steepest(_each(polar_factor, polar_factor), 0.1, "spectral"),
    "spectral and sign": _steepest(_each(polar_factor, jnp.sign), 0.05, "hybrid"),
    # without ε, which outlasts the gradient; 1e-200 is for units that no example reaches
    "Adam": Method(optax.scale_by_adam(b2=0.99, eps=1e-200), 0.03, "max"),
}
NORMS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "Frobenius": lambda v, w: float(np.hypot(np.linalg.norm(v), np.linalg.norm(w))),
    "max": lambda v, w: float(max(np.abs(v).max(), np.abs(w).max())),
    "spectral": lambda v, w: float(max(np.linalg.norm(v, 2), np.linalg.norm(w, 2))),
    "hybrid": lambda v, w: float(max(np.linalg.norm(v, 2), np.abs(w).max())),
}


class Data(NamedTuple):
    """Random inputs ``[n, d]`` with random classes ``[n]``."""

    inputs: Array
    classes: Array


def margins(layers: Layers, data: Data) -> Array:
    """Logit of an example's class less the logsumexp of the others, nats, ``[n]``."""
    logits = jax.nn.relu(data.inputs @ layers[0].T) @ layers[1].T
    own = jax.nn.one_hot(data.classes, NUM_CLASSES, dtype=bool)
    others = jax.nn.logsumexp(jnp.where(own, -jnp.inf, logits), axis=1)
    return jnp.where(own, logits, 0).sum(axis=1) - others


def loss(layers: Layers, data: Data) -> Array:
    """Mean cross-entropy, nats; in this form its gradient is right at any margin."""
    return jax.nn.softplus(-margins(layers, data)).mean()


def train(data: Data, first: Layers, method: Method, num: int) -> Iterator[tuple[int, Layers]]:
    """The weights at each mark."""
    slope = jax.grad(loss)

    @jax.jit
    def advance(state: tuple, start: int, stop: int) -> tuple:
        def update(step: Array, state: tuple) -> tuple:
            layers, memory = state
            change, memory = method.transform.update(slope(layers, data), memory, layers)
            rate = method.step / jnp.sqrt(step + 1.0)
            return jax.tree.map(lambda w, c: w - rate * c, layers, change), memory

        return jax.lax.fori_loop(start, stop, update, state)

    state, marks = (first, method.transform.init(first)), log_spaced_marks(num, MARKS)[1:]
    for start, stop in zip([0, *marks], marks, strict=False):
        state = advance(state, start, stop)
        yield int(stop), state[0]


def normalised(layers: Layers, data: Data) -> dict[str, float]:
    """The least margin over the squared norm, for each norm: the network has degree 2."""
    least = float(margins(layers, data).min())
    first, second = map(np.asarray, layers)
    return {norm: least / size(first, second) ** 2 for norm, size in NORMS.items()}


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """The course of each method, and the lead of its margin in each norm."""
    courses: dict[str, list[tuple[int, dict[str, float]]]] = {}
    with float64():
        rng = np.random.default_rng(FIRST + seed)
        inputs, classes = rng.standard_normal((NUM_EXAMPLES, DIM)), np.arange(NUM_EXAMPLES)
        data = Data(jnp.asarray(inputs), jnp.asarray(classes % NUM_CLASSES))
        shapes = (WIDTH, DIM), (NUM_CLASSES, WIDTH)
        first, second = (jnp.asarray(START * rng.standard_normal(shape)) for shape in shapes)
        for name, method in METHODS.items():
            path = train(data, (first, second), method, UPDATES[scale])
            courses[name] = [(step, normalised(layers, data)) for step, layers in path]
    last = {name: course[-1][1] for name, course in courses.items()}
    for name, course in courses.items():
        own = METHODS[name].norm
        others = [last[n][own] for n, method in METHODS.items() if method.norm != own]
        numbers = {f"margin_{norm}": value for norm, value in last[name].items()}
        # margins of runs that do not separate are negative, and have no logarithm
        numbers["lead"] = last[name][own] / max(*others, 1e-9) - 1
        for norm in NORMS:
            best = max(run[norm] for run in last.values())
            numbers[f"share_{norm}"] = last[name][norm] / best if best > 0 else np.nan
        curve = np.array([margin[own] for _, margin in course])
        steps = np.array([step for step, _ in course])
        yield Measured({"optimizer": name}, numbers, steps, {"margin_own": curve})


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)
