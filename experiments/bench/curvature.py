"""Products with curvature matrices against the gradient of the same loss, in time and memory.

H v and G v are means over parts of the windows, each of which fits into the caches of a core;
beside them stands what they take at once. The control is a gradient in parts.
"""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
import optax
from jax import Array

from el_jax.curvature import ggn_vp, hvp, mean_over_parts, quadratic_form
from el_jax.curvature.sampling import signs
from el_jax.losses import cross_entropy, token_stats
from el_jax.models import PRESETS, TransformerConfig, transformer
from el_jax.types import Batch, Params
from experiments.bench.fused import temporary_bytes
from experiments.bench.measurement import Measurement
from experiments.bench.paired import Timing, compare
from experiments.bench.timing import seconds_of
from experiments.bench.trainings import random_batch

VOCAB_SIZE = 65
NAMES = {"form": "v'Hv", "hvp": "H v", "ggn": "G v"}
IN_PARTS = ("hvp", "ggn")
CONTROL = "gradient in parts"


class Plan(NamedTuple):
    """Sizes of the language model, number of products in a timing, rounds, and parts of windows."""

    width: int
    num_layers: int
    num_heads: int
    windows: int
    length: int
    num_products: int
    rounds: int
    parts: int


PLANS = {
    "smoke": Plan(16, 1, 2, 2, 8, 1, 1, 2),
    "cpu": Plan(128, 4, 4, 12, 64, 2, 9, 3),
    "gpu": Plan(128, 4, 4, 256, 64, 20, 20, 4),
}


class Products(NamedTuple):
    """Parameters, a direction, and what is timed, as functions of both.

    Attributes:
        params: of the model.
        v: signs.
        of: by name, the gradient, a training step, and the products of ``NAMES``; those of
            ``IN_PARTS`` at once as well; and ``CONTROL``.
    """

    params: Params
    v: Params
    of: dict[str, Callable[[Params, Params], object]]


def measure(plan: Plan) -> Iterator[Measurement]:
    """Time over a gradient's, and temporary memory over that of a training step."""
    params, v, functions = products(plan)
    compiled = {name: jax.jit(f).lower(params, v).compile() for name, f in functions.items()}
    step = temporary_bytes(compiled["step"])

    def timing(name: str) -> Timing:
        once = partial(compiled[name], params, v)
        return seconds_of(lambda: [once() for _ in range(plan.num_products)])

    for name, words in NAMES.items():
        found = compare(timing("gradient"), timing(name), plan.rounds)
        values: dict[str, float | np.ndarray] = {
            "time / gradient": found.ratios,
            "memory / training step": temporary_bytes(compiled[name]) / step,
            "gradient, ms": 1e3 * found.first_seconds / plan.num_products,
        }
        if name in IN_PARTS:
            whole = at_once(name)
            values["at once, time / gradient"] = compare(
                timing("gradient"), timing(whole), plan.rounds
            ).ratios
            values["at once, memory / training step"] = temporary_bytes(compiled[whole]) / step
        yield Measurement(f"{words}, {name_of(plan)}", values)
    control = compare(timing("gradient"), timing(CONTROL), plan.rounds)
    yield Measurement(f"{CONTROL}, {name_of(plan)}", {"time / gradient": control.ratios})


def at_once(name: str) -> str:
    """The name of a product of all windows at once, beside that of their parts."""
    return f"{name} at once"


def name_of(plan: Plan) -> str:
    """The network and its windows in words."""
    return f"{plan.num_layers}L/{plan.width}, {plan.windows}x{plan.length} tokens"


def config_of(plan: Plan) -> TransformerConfig:
    """The network, without dropout and with attention that can be differentiated twice."""
    return dataclasses.replace(
        PRESETS["gpt_neox"],
        vocab_size=VOCAB_SIZE,
        width=plan.width,
        num_layers=plan.num_layers,
        num_heads=plan.num_heads,
        max_length=plan.length,
        attention_impl="xla",
    )


def batch_of(plan: Plan) -> Batch:
    """Windows all of whose positions are asked for."""
    return random_batch(VOCAB_SIZE, plan.windows, plan.length, None)


def products(plan: Plan) -> Products:
    """The gradient, a step and the products, of mean cross-entropy."""
    model, batch = transformer(config_of(plan)), batch_of(plan)
    params, optimizer = model.init(jax.random.key(0)), optax.adamw(1e-3)
    state = optimizer.init(params)

    def of_outputs(part: Batch, logits: Array) -> Array:
        return cross_entropy(token_stats(logits, part.labels)).mean()

    def loss_of(part: Batch, params: Params) -> Array:
        return of_outputs(part, model.apply(params, part))

    loss = partial(loss_of, batch)

    def step(params: Params, v: Params) -> object:
        del v
        updates, after = optimizer.update(jax.grad(loss)(params), state, params)
        return optax.apply_updates(params, updates), after

    def gradient(params: Params, v: Params) -> Params:
        del v
        return jax.grad(loss)(params)

    def hessian(part: Batch, params: Params, v: Params) -> Params:
        return hvp(partial(loss_of, part), params, v)

    def gauss_newton(part: Batch, params: Params, v: Params) -> Params:
        outputs = partial(lambda part, params: model.apply(params, part), part)
        return ggn_vp(outputs, partial(of_outputs, part), params, v)

    def of_part(part: Batch, params: Params, v: Params) -> Params:
        del v
        return jax.grad(partial(loss_of, part))(params)

    def in_parts(product: Callable) -> Callable[[Params, Params], Params]:
        return lambda params, v: mean_over_parts(
            lambda part: product(part, params, v), batch, plan.parts
        )

    curved = {"hvp": hessian, "ggn": gauss_newton}
    return Products(
        params,
        signs(jax.random.key(1), params),
        {
            "gradient": gradient,
            "step": step,
            CONTROL: in_parts(of_part),
            "form": partial(quadratic_form, loss),
            **{name: in_parts(product) for name, product in curved.items()},
            **{at_once(name): partial(product, batch) for name, product in curved.items()},
        },
    )
