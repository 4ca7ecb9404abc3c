"""Products with curvature matrices, and the trace of the Fisher matrix, in time and memory.

Two benchmarks. ``curvature`` is products against the gradient of the same loss: H v and G v are
means over parts of the windows, each of which fits into the caches of a core; beside them stands
what they take at once, and the control is a gradient in parts. ``fisher`` is the trace by the
protocol of Liu, Xie, Li, Ma (2023), appendix B.1, in seconds.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
import optax
from jax import Array

from el_jax.curvature import Fisher, GaussNewton, Hessian, SampledEstimate, mean_over_parts
from el_jax.curvature.sampling import signs
from el_jax.losses import cross_entropy, token_stats
from el_jax.models import PRESETS, TransformerConfig, transformer
from el_jax.probes.contexts import context_logits, contexts_of
from el_jax.tasks import MaskedWords
from el_jax.types import Batch, Params
from el_jax.worlds import choose_world
from experiments.bench.paired import Benchmark, Measurement, Timing, compare, seconds_of
from experiments.bench.trainings import random_batch, temporary_bytes

VOCAB_SIZE = 65
NAMES = {"form": "v'Hv", "hvp": "H v", "ggn": "G v"}
AT_ONCE = {"hvp": "hvp at once", "ggn": "ggn at once"}  # of those that are means over parts
CONTROL = "gradient in parts"
CONTEXTS = 10_000  # of the Fisher trace's protocol


class Network(NamedTuple):
    """Sizes of the language model, of its windows, and the number of their parts."""

    width: int
    num_layers: int
    num_heads: int
    windows: int
    length: int
    parts: int

    def __str__(self) -> str:
        return f"{self.num_layers}L/{self.width}, {self.windows}x{self.length} tokens"

    def config(self) -> TransformerConfig:
        """The network, without dropout and with attention that can be differentiated twice."""
        return dataclasses.replace(
            PRESETS["gpt_neox"],
            vocab_size=VOCAB_SIZE,
            width=self.width,
            num_layers=self.num_layers,
            num_heads=self.num_heads,
            max_length=self.length,
            attention_impl="xla",
        )

    def batch(self) -> Batch:
        """Windows all of whose positions are asked for."""
        return random_batch(VOCAB_SIZE, self.windows, self.length, None)


class Products(NamedTuple):
    """Parameters, a direction, and what is timed, as functions of both.

    Attributes:
        params: of the model.
        v: signs.
        of: by name, the gradient, a training step, and the products of ``NAMES``; those of
            ``AT_ONCE`` at once as well; and ``CONTROL``.
    """

    params: Params
    v: Params
    of: dict[str, Callable[[Params, Params], object]]


def measure(network: Network, num_products: int, rounds: int) -> Iterator[Measurement]:
    """Time over a gradient's, and temporary memory over that of a training step."""
    params, v, functions = products(network)
    compiled = {name: jax.jit(f).lower(params, v).compile() for name, f in functions.items()}
    step = temporary_bytes(compiled["step"])

    def timing(name: str) -> Timing:
        once = partial(compiled[name], params, v)
        return seconds_of(lambda: [once() for _ in range(num_products)])

    for name, words in NAMES.items():
        found = compare(timing("gradient"), timing(name), rounds)
        values: dict[str, float | np.ndarray] = {
            "time / gradient": found.ratios,
            "memory / training step": temporary_bytes(compiled[name]) / step,
            "gradient, ms": 1e3 * found.first_seconds / num_products,
        }
        if whole := AT_ONCE.get(name):
            at_once = compare(timing("gradient"), timing(whole), rounds)
            values["at once, time / gradient"] = at_once.ratios
            values["at once, memory / training step"] = temporary_bytes(compiled[whole]) / step
        yield Measurement(f"{words}, {network}", values)
    control = compare(timing("gradient"), timing(CONTROL), rounds)
    yield Measurement(f"{CONTROL}, {network}", {"time / gradient": control.ratios})


def products(network: Network) -> Products:
    """The gradient, a step and the products, of mean cross-entropy."""
    model, batch = transformer(network.config()), network.batch()
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
        return Hessian(partial(loss_of, part), params).matvec(v)

    def gauss_newton(part: Batch, params: Params, v: Params) -> Params:
        outputs = partial(lambda part, params: model.apply(params, part), part)
        return GaussNewton(outputs, partial(of_outputs, part), params).matvec(v)

    def of_part(part: Batch, params: Params, v: Params) -> Params:
        del v
        return jax.grad(partial(loss_of, part))(params)

    def in_parts(product: Callable) -> Callable[[Params, Params], Params]:
        return lambda params, v: mean_over_parts(
            lambda part: product(part, params, v), batch, network.parts
        )

    curved = {"hvp": hessian, "ggn": gauss_newton}
    return Products(
        params,
        signs(jax.random.key(1), params),
        {
            "gradient": gradient,
            "step": step,
            CONTROL: in_parts(of_part),
            "form": lambda params, v: Hessian(loss, params).quadratic_form(v),
            **{name: in_parts(product) for name, product in curved.items()},
            **{AT_ONCE[name]: partial(product, batch) for name, product in curved.items()},
        },
    )


def measure_fisher(
    width: int,
    num_layers: int,
    num_heads: int,
    depth: int,
    num_contexts: int,
    num_labels: int,
    chunk: int,
) -> Iterator[Measurement]:
    """Seconds of one trace, measured once, compilation left out; and the error of the contexts.

    Contexts come one chunk after the other, so that fewer than the protocol's tell its time.
    """
    task = MaskedWords(choose_world("pcfg", {"depth": depth}))
    windows, _ = contexts_of(task.pack(task.test_set(num_contexts)))
    config = dataclasses.replace(
        PRESETS["budget_bert"],
        vocab_size=task.vocab_size,
        width=width,
        num_layers=num_layers,
        num_heads=num_heads,
        max_length=task.window_length,
    )
    model = transformer(config)
    params = model.init(jax.random.key(0))

    def trace(params: Params, windows: Batch) -> SampledEstimate:
        fisher = Fisher(context_logits(model), params, windows, chunk=chunk)
        return fisher.sampled_trace(jax.random.key(1), num_labels)

    compiled = jax.jit(trace).lower(params, windows).compile()
    start = time.perf_counter()
    found = jax.block_until_ready(compiled(params, windows))
    seconds = time.perf_counter() - start
    values = {
        "trace of 10,000 contexts, s": seconds * CONTEXTS / num_contexts,
        "standard error / trace": float(found.sem / found.mean),
    }
    case = f"{num_layers}L/{width}, {num_contexts} contexts x {num_labels} labels"
    yield Measurement(case, values)


CURVATURE = Benchmark(
    measure,
    {
        "smoke": (Network(16, 1, 2, 2, 8, 2), 1, 1),
        "cpu": (Network(128, 4, 4, 12, 64, 3), 2, 9),
        "gpu": (Network(128, 4, 4, 256, 64, 4), 20, 20),
    },
    one_core=True,
)
FISHER = Benchmark(
    measure_fisher,
    {
        "smoke": (16, 1, 2, 2, 16, 2, 8),
        "cpu": (128, 4, 4, 5, 1_000, 50, 8),
        "gpu": (128, 4, 4, 5, 10_000, 50, 256),
    },
)
