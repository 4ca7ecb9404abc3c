"""Paths between two minima: is there a way from one to the other on which the loss stays low?

Garipov et al. 2018 (arXiv 1802.10026), Draxler et al. 2018 (arXiv 1803.00885).
"""

import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Float

from el_jax.curvature.arguments import check_count, check_finite, check_tangent
from el_jax.curvature.products import Loss
from el_jax.curvature.sampling import map_in_chunks
from el_jax.runtime.errors import require
from el_jax.types import Key, Params


class Path(NamedTuple):
    """The loss along a path, in nats.

    Attributes:
        places: of the points on the path, from 0 to 1, ``[num]``.
        losses: L there, ``[num]``.
        barrier: the largest rise of L over the straight line between L at both ends; 0 if none.
        bend: the control point θ of a curve; None for a straight line.
    """

    places: Float[Array, " num"]
    losses: Float[Array, " num"]
    barrier: Float[Array, ""]
    bend: Params | None = None


def linear_path(
    loss: Loss, first: Params, second: Params, *, num: int = 21, chunk: int = 1
) -> Path:
    """The loss along the straight line between two sets of parameters.

    Args:
        loss: a function of the parameters.
        first: where the path begins.
        second: where it ends, a tree like ``first``.
        num: points, at least 3: both ends, and as many between as are wanted.
        chunk: points at once.

    Raises:
        ValueError: if a number is out of range, the trees differ, or the loss is not finite at an
            end. Between the ends it may be infinite, and so may the barrier.
    """
    return _along(loss, (first, second), num, chunk)


def curved_path(
    loss: Loss,
    first: Params,
    second: Params,
    key: Key,
    *,
    num_steps: int = 500,
    learning_rate: float = 0.01,
    num: int = 21,
    chunk: int = 1,
) -> Path:
    """The loss along a Bézier curve (1-t)² first + 2 t (1-t) θ + t² second that avoids high losses.

    θ minimises the mean loss over uniform t, by Adam from the middle of the straight line, one t a
    step (Garipov et al. 2018, equations 2 and 6). A barrier that is left is an upper bound: a
    longer search, or another curve, may find a lower pass.

    Args:
        loss: a differentiable function of the parameters.
        first: where the curve begins.
        second: where it ends.
        key: of the places t.
        num_steps: of Adam, a gradient each.
        learning_rate: of Adam at the start; it falls to 0 along a cosine.
        num: points at which the loss is told.
        chunk: points at once.

    Raises:
        ValueError: as for :func:`linear_path`.
    """
    check_count("num_steps", num_steps)
    require("learning_rate", learning_rate, learning_rate > 0, "positive")
    check_tangent(first, second, "second")
    optimizer = optax.adam(optax.cosine_decay_schedule(learning_rate, num_steps))

    def step(number: Array, state: tuple[Params, Any]) -> tuple[Params, Any]:
        bend, memory = state
        place = jax.random.uniform(jax.random.fold_in(key, number))
        slope = jax.grad(lambda bend: loss(_at((first, bend, second), place)))(bend)
        change, memory = optimizer.update(slope, memory)
        return optax.apply_updates(bend, change), memory

    middle = jax.tree.map(lambda a, b: (a + b) / 2, first, second)
    bend, _ = jax.lax.fori_loop(0, num_steps, step, (middle, optimizer.init(middle)))
    return _along(loss, (first, bend, second), num, chunk)._replace(bend=bend)


def _at(points: tuple[Params, ...], place: Array) -> Params:
    """The point of a Bézier curve, by straight lines between points until one is left."""
    while len(points) > 1:
        points = tuple(
            jax.tree.map(lambda a, b: a + place.astype(a.dtype) * (b - a), left, right)
            for left, right in itertools.pairwise(points)
        )
    return points[0]


def _along(loss: Loss, points: tuple[Params, ...], num: int, chunk: int) -> Path:
    check_count("num", num, least=3)
    check_tangent(points[0], points[-1], "second")
    places = jnp.linspace(0, 1, num)
    losses = map_in_chunks(lambda place: loss(_at(points, place)), places, chunk)
    ends = losses[jnp.array([0, -1])]
    check_finite("losses at the ends", ends, "loss(params)", lambda: ends)
    line = ends[0] + places.astype(losses.dtype) * (ends[1] - ends[0])
    return Path(places, losses, jnp.maximum(losses - line, 0).max())
