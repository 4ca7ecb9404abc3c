"""Products with curvature matrices, and the trace of the Fisher matrix, in time and memory.

Two benchmarks. ``curvature`` compares products with the gradient of the same loss: H v and G v are
means over parts of the windows, each of which fits into the caches of a core. They are also
measured over all windows at once, and the control is a gradient in parts. ``fisher`` times the
trace by the protocol of Liu, Xie, Li, Ma (2023), appendix B.1, in seconds.
"""

import functools
import time
from collections.abc import Callable, Mapping
from functools import partial

import jax
import optax
from jax import Array

from el_jax.curvature import Fisher, GaussNewton, Hessian, SampledEstimate, mean_over_parts
from el_jax.curvature.sampling import signs
from el_jax.losses import cross_entropy, token_stats
from el_jax.models import TransformerConfig, transformer
from el_jax.probes.contexts import context_logits, contexts_of
from el_jax.tasks import MaskedWords
from el_jax.types import Batch, Params
from el_jax.worlds import choose_world
from experiments.bench.curvature_peers import LANGUAGE_MODEL, MANY_WINDOWS, SMOKE
from experiments.bench.paired import (
    Benchmark,
    Case,
    Comparison,
    Timing,
    Values,
    compare,
    seconds_of,
)
from experiments.bench.trainings import network, random_batch, temporary_bytes

VOCAB_SIZE = 65
NAMES = {"form": "v'Hv", "hvp": "H v", "ggn": "G v"}
AT_ONCE = {"hvp": "hvp at once", "ggn": "ggn at once"}  # without division into parts
CONTROL = "gradient_in_parts"
CONTEXTS = 10_000  # in the Fisher trace's protocol
Product = Callable[[Params, Params], object]


def config_of(case: Case) -> TransformerConfig:
    """The network, without dropout and with attention that can be differentiated twice."""
    own = {"vocab_size": VOCAB_SIZE, "max_length": case["length"], "attention_impl": "xla"}
    return network("gpt_neox", case, **own)


def batch_of(case: Case) -> Batch:
    """Windows with all positions supervised."""
    return random_batch(VOCAB_SIZE, case["windows"], case["length"])


def measure(case: Case, num_products: int, rounds: int) -> Values:
    """Time relative to a gradient, and temporary memory relative to a training step."""
    params, v, functions = products(case)

    @functools.cache
    def compiled(name: str) -> jax.stages.Compiled:
        return jax.jit(functions[name]).lower(params, v).compile()

    def timing(name: str) -> Timing:
        once = partial(compiled(name), params, v)
        return seconds_of(lambda: [once() for _ in range(num_products)])

    def against(name: str) -> Comparison:
        return compare(timing("gradient"), timing(name), rounds)

    name, step = case["product"], temporary_bytes(compiled("step"))
    found = against(name)
    values: Values = {"time / gradient": found.ratios}
    if name == CONTROL:
        return values
    values["memory / training step"] = temporary_bytes(compiled(name)) / step
    values["gradient, ms"] = 1e3 * found.first_seconds / num_products
    if whole := AT_ONCE.get(name):
        values["at once, time / gradient"] = against(whole).ratios
        values["at once, memory / training step"] = temporary_bytes(compiled(whole)) / step
    return values


def products(case: Case) -> tuple[Params, Params, dict[str, Product]]:
    """Parameters, a direction of random signs, and the timed functions of both.

    The functions, by name: the gradient of mean cross-entropy, a training step, the products of
    ``NAMES``, those of ``AT_ONCE`` also at once, and ``CONTROL``.
    """
    model, batch = transformer(config_of(case)), batch_of(case)
    params, optimizer = model.init(jax.random.key(0)), optax.adamw(1e-3)
    state = optimizer.init(params)

    def of_outputs(part: Batch, logits: Array) -> Array:
        return cross_entropy(token_stats(logits, part.labels)).mean()

    def loss_of(part: Batch, params: Params) -> Array:
        return of_outputs(part, model.apply(params, part))

    def gradient(part: Batch, params: Params, _: Params) -> Params:
        return jax.grad(partial(loss_of, part))(params)

    def step(params: Params, v: Params) -> object:
        updates, after = optimizer.update(gradient(batch, params, v), state, params)
        return optax.apply_updates(params, updates), after

    def hessian(part: Batch, params: Params, v: Params) -> Params:
        return Hessian(partial(loss_of, part), params).matvec(v)

    def gauss_newton(part: Batch, params: Params, v: Params) -> Params:
        outputs = partial(lambda part, params: model.apply(params, part), part)
        return GaussNewton(outputs, partial(of_outputs, part), params).matvec(v)

    def in_parts(product: Callable) -> Product:
        return lambda params, v: mean_over_parts(
            lambda part: product(part, params, v), batch, case["parts"]
        )

    curved = {"hvp": hessian, "ggn": gauss_newton}
    timed: dict[str, Product] = {
        "gradient": partial(gradient, batch),
        "step": step,
        CONTROL: in_parts(gradient),
        "form": lambda params, v: Hessian(partial(loss_of, batch), params).quadratic_form(v),
        **{name: in_parts(product) for name, product in curved.items()},
        **{AT_ONCE[name]: partial(product, batch) for name, product in curved.items()},
    }
    return params, signs(jax.random.key(1), params), timed


def measure_fisher(case: Case, depth: int, chunk: int) -> Values:
    """Seconds for one trace, measured once without compilation; and the error from contexts.

    Contexts are processed chunk by chunk, so the time for the protocol's number can be inferred
    from fewer.
    """
    task = MaskedWords(choose_world("pcfg", {"depth": depth}))
    windows, _ = contexts_of(task.pack(task.test_set(case["num_contexts"])))
    own = {"vocab_size": task.vocab_size, "max_length": task.window_length}
    model = transformer(network("budget_bert", case, **own))
    params = model.init(jax.random.key(0))

    def trace(params: Params, windows: Batch) -> SampledEstimate:
        fisher = Fisher(context_logits(model), params, windows, chunk=chunk)
        return fisher.sampled_trace(jax.random.key(1), case["num_labels"])

    compiled = jax.jit(trace).lower(params, windows).compile()
    start = time.perf_counter()
    found = jax.block_until_ready(compiled(params, windows))
    seconds = time.perf_counter() - start
    return {
        "trace of 10,000 contexts, s": seconds * CONTEXTS / case["num_contexts"],
        "standard error / trace": float(found.sem / found.mean),
    }


def _products(sizes: Mapping[str, Case]) -> dict[str, Case]:
    ((words, network),) = sizes.items()
    named = {**NAMES, CONTROL: "gradient in parts"}
    return {f"{said}, {words}": {"product": key, **network} for key, said in named.items()}


def _contexts(layers: int, width: int, heads: int, num: int, labels: int) -> dict[str, Case]:
    sizes = {"num_layers": layers, "width": width, "num_heads": heads, "num_contexts": num}
    words = f"{layers}L/{width}, {num} contexts x {labels} labels"
    return {words: {**sizes, "num_labels": labels}}


CURVATURE = Benchmark(
    measure,
    {
        "smoke": (_products(SMOKE), 1, 1),
        "cpu": (_products(LANGUAGE_MODEL), 2, 9),
        "gpu": (_products(MANY_WINDOWS), 20, 20),
    },
    one_core=True,
)
FISHER = Benchmark(
    measure_fisher,
    {
        "smoke": (_contexts(1, 16, 2, 16, 2), 2, 8),
        "cpu": (_contexts(4, 128, 4, 1_000, 50), 5, 8),
        "gpu": (_contexts(4, 128, 4, 10_000, 50), 5, 256),
    },
)
