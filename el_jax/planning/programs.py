"""The updates of a training and their matrix products, from shapes alone: nothing is drawn."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp

from el_jax.planning.products import Products, count_products
from el_jax.training.layout import ONE_DEVICE
from el_jax.training.program import Spec, block_windows, evaluation, initial_state, updates
from el_jax.training.state import TrainState
from el_jax.types import Batch


@dataclasses.dataclass(frozen=True)
class Shapes:
    """Shapes of the inputs of a training's programs.

    Attributes:
        spec: the training.
        state: state of all runs.
        data: training set.
        batch: windows that one run reads in an update.
    """

    spec: Spec
    state: TrainState
    data: Any
    batch: Batch

    @property
    def num_params(self) -> int:
        """Number of parameters of one run."""
        return sum(math.prod(leaf.shape[1:]) for leaf in jax.tree.leaves(self.state.params))


def shapes_of(spec: Spec) -> Shapes:
    """Trace a training for its shapes."""
    data = jax.eval_shape(spec.task.train_set)

    def first_batch(data: Any) -> Batch:
        return spec.task.batch_at(data, jnp.int32(0), jax.random.key(0))

    state = jax.eval_shape(initial_state(spec), spec.hypers)
    return Shapes(spec, state, data, jax.eval_shape(first_batch, data))


def products_of_update(shapes: Shapes) -> Products:
    """The matrix products of one update of all runs, over all devices."""
    function = updates(_undivided(shapes.spec), 1)
    return count_products(function.call, shapes.state, _hypers(shapes), shapes.data)


def products_of_block(shapes: Shapes) -> Products:
    """The matrix products of all runs on one block of windows evaluated at once."""
    spec = shapes.spec
    windows = block_windows(shapes.batch, spec.eval_tokens, spec.layout)
    block = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct((windows, *leaf.shape[1:]), leaf.dtype), shapes.batch
    )
    return count_products(
        evaluation(_undivided(spec)).call, shapes.state.params, _hypers(shapes), block
    )


def lowered(shapes: Shapes, num_updates: int) -> jax.stages.Lowered:
    """A dispatch of updates, ready to be compiled for the devices of its layout.

    Args:
        shapes: the training's shapes.
        num_updates: updates per dispatch.
    """
    function = updates(shapes.spec, num_updates)
    return function.lower(shapes.state, _hypers(shapes), shapes.data)


def _hypers(shapes: Shapes) -> Any:
    return jax.eval_shape(lambda: shapes.spec.hypers)


def _undivided(spec: Spec) -> Spec:
    return dataclasses.replace(spec, layout=ONE_DEVICE)
