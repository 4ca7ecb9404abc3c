"""The programs of a training, lowered from shapes alone: nothing is drawn or computed."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.curvature import hvp, quadratic_form
from el_jax.planning.products import Products, count_products
from el_jax.probes.contexts import context_logits
from el_jax.probes.curvature import traces
from el_jax.training.devices.layout import ONE_DEVICE
from el_jax.training.devices.on_devices import OnDevices
from el_jax.training.devices.runs import over_runs
from el_jax.training.program import (
    Spec,
    block_windows,
    evaluation,
    initial_state,
    initialisation,
    updates,
)
from el_jax.training.state import Hypers, TrainState
from el_jax.types import Batch, Params

PROGRAMS = ("updates", "evaluation", "initialisation", "hvp", "quadratic_form", "traces")
_CURVATURE = {"hvp": hvp, "quadratic_form": quadratic_form}


@dataclasses.dataclass(frozen=True)
class Shapes:
    """Shapes of what the programs of a training take.

    Attributes:
        spec: the training.
        hypers: numbers in which runs differ.
        state: state of all runs.
        data: training set.
        batch: windows that one run reads in an update.
    """

    spec: Spec
    hypers: Hypers
    state: TrainState
    data: Any
    batch: Batch

    @property
    def num_params(self) -> int:
        """Parameters of one run."""
        leaves = jax.tree.leaves(self.state.params)
        return sum(math.prod(leaf.shape[1:]) for leaf in leaves)

    @property
    def block(self) -> Batch:
        """Windows that are evaluated at once."""
        windows = block_windows(self.batch, self.spec.eval_tokens, self.spec.layout)
        return jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct((windows, *leaf.shape[1:]), leaf.dtype), self.batch
        )

    @property
    def contexts(self) -> Batch:
        """The windows of an update once for each token asked for, see ``probes.contexts_of``."""
        batch, num = self.batch, math.prod(self.batch.supervised.shape)

        def one(leaf: Any, *sides: int) -> Any:
            return leaf and jax.ShapeDtypeStruct((num, *sides), leaf.dtype)

        length = batch.tokens.shape[1]
        return Batch(
            tokens=one(batch.tokens, length),
            supervised=one(batch.supervised, 1),
            labels=one(batch.labels, 1),
            mask=one(batch.mask, 1),
            groups=one(batch.groups, 1),
            positions=one(batch.positions, length),
            documents=one(batch.documents, length),
        )


def shapes_of(spec: Spec) -> Shapes:
    """Trace a training for its shapes."""
    hypers = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), spec.hypers)
    data = jax.eval_shape(spec.task.train_set)

    def first_batch(data: Any) -> Batch:
        return spec.task.batch_at(data, jnp.int32(0), jax.random.key(0))

    return Shapes(
        spec=spec,
        hypers=hypers,
        state=jax.eval_shape(initial_state(spec), hypers),
        data=data,
        batch=jax.eval_shape(first_batch, data),
    )


def products_of_update(shapes: Shapes) -> Products:
    """The matrix products of one update of all runs, on however many devices."""
    function = updates(_undivided(shapes.spec), 1)
    return count_products(function.call, shapes.state, shapes.hypers, shapes.data)


def products_of_block(shapes: Shapes) -> Products:
    """The matrix products of all runs on one block of windows that are evaluated at once."""
    function = evaluation(_undivided(shapes.spec))
    return count_products(function.call, shapes.state.params, shapes.hypers, shapes.block)


def _undivided(spec: Spec) -> Spec:
    return dataclasses.replace(spec, layout=ONE_DEVICE)


def lowered(
    shapes: Shapes, program: str, num_updates: int = 1, at_once: int | None = None
) -> jax.stages.Lowered:
    """One program of a training, ready to be compiled for the devices of its layout.

    Args:
        shapes: of the training.
        program: of ``PROGRAMS``; "evaluation" is that of one block of windows, "hvp" and
            "quadratic_form" are those of the loss of an update's windows, "traces" are those of the
            probe of curvature on the tokens of these, on every device whole.
        num_updates: updates of a dispatch.
        at_once: number of runs a device computes at once; None for all.
    """
    spec = shapes.spec
    arguments: tuple[Any, ...]
    if program == "initialisation":
        function, arguments = initialisation(spec), (shapes.hypers,)
    elif program == "evaluation":
        function = evaluation(spec, at_once)
        arguments = shapes.state.params, shapes.hypers, shapes.block
    elif program == "traces":
        function, arguments = _traces(spec), (shapes.state.params, shapes.contexts)
    elif program in _CURVATURE:
        function = _along_a_direction(spec, _CURVATURE[program], at_once)
        arguments = shapes.state.params, shapes.hypers, shapes.state.params, shapes.batch
    else:
        function = updates(spec, num_updates, at_once)
        arguments = shapes.state, shapes.hypers, shapes.data
    return function.lower(*arguments)


def _along_a_direction(
    spec: Spec, derivative: Callable[..., Any], at_once: int | None
) -> OnDevices:
    """``derivative(loss, params, direction)`` of all runs on the windows of an update."""

    def one_run(run: tuple[Params, Hypers, Params], batch: Batch) -> Any:
        params, hypers, direction = run

        def loss(params: Params) -> Array:
            return spec.objective.loss(params, batch, hypers.loss, None)[0]

        return derivative(loss, params, direction)

    all_runs = over_runs(one_run, spec.run_axis, at_once)
    return spec.layout.over_devices(
        lambda params, hypers, direction, batch: all_runs((params, hypers, direction), batch),
        takes=("runs", "runs", "runs", "shared"),
        gives="runs",
    )


def _traces(spec: Spec) -> OnDevices:
    """Traces of the Fisher matrix and of the Hessian, of all runs one after the other."""
    logits = context_logits(spec.objective.head.model)

    def one_run(params: Params, windows: Batch) -> dict[str, Array]:
        found = traces(logits, params, windows, jax.random.key(0))
        return {name: estimate.mean for name, estimate in found.items()}

    all_runs = over_runs(one_run, "map")
    return spec.layout.over_devices(all_runs, takes=("runs", "shared"), gives="runs")
