"""The Fisher trace by the protocol of Liu, Xie, Li, Ma (2023), appendix B.1, in seconds."""

import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax

from el_jax.curvature import SampledEstimate, fisher_trace
from el_jax.models import PRESETS, transformer
from el_jax.probes.contexts import context_logits, contexts_of
from el_jax.tasks import MaskedWords
from el_jax.types import Batch, Params
from el_jax.worlds import choose_world
from experiments.bench.measurement import Measurement


class Plan(NamedTuple):
    """Sizes of the masked language model, contexts, labels of each, and contexts at once."""

    width: int
    num_layers: int
    num_heads: int
    depth: int
    num_contexts: int
    num_labels: int
    chunk: int


PLANS = {
    "smoke": Plan(16, 1, 2, 2, 16, 2, 8),
    "cpu": Plan(128, 4, 4, 5, 1_000, 50, 8),
    "gpu": Plan(128, 4, 4, 5, 10_000, 50, 256),
}
CONTEXTS = 10_000  # of the protocol


def measure(plan: Plan) -> Iterator[Measurement]:
    """Seconds of one trace, measured once, compilation left out; and the error of the contexts.

    Contexts come one chunk after the other, so that fewer than the protocol's tell its time.
    """
    params, windows, trace = trace_of(plan)
    compiled = jax.jit(trace).lower(params, windows).compile()
    start = time.perf_counter()
    found = jax.block_until_ready(compiled(params, windows))
    seconds = time.perf_counter() - start
    yield Measurement(
        f"{plan.num_layers}L/{plan.width}, {plan.num_contexts} contexts x {plan.num_labels} labels",
        {
            "trace of 10,000 contexts, s": seconds * CONTEXTS / plan.num_contexts,
            "standard error / trace": float(found.sem / found.mean),
        },
    )


def trace_of(
    plan: Plan,
) -> tuple[Params, Batch, Callable[[Params, Batch], SampledEstimate]]:
    """A network, contexts of the paper's grammar, and the trace as a function of both."""
    task = MaskedWords(choose_world("pcfg", {"depth": plan.depth}))
    windows, _ = contexts_of(task.pack(task.test_set(plan.num_contexts)))
    config = dataclasses.replace(
        PRESETS["budget_bert"],
        vocab_size=task.vocab_size,
        width=plan.width,
        num_layers=plan.num_layers,
        num_heads=plan.num_heads,
        max_length=task.window_length,
    )
    model = transformer(config)

    def trace(params: Params, windows: Batch) -> SampledEstimate:
        return fisher_trace(
            context_logits(model), params, windows,
            labels="sampled", key=jax.random.key(1), num_labels=plan.num_labels, chunk=plan.chunk,
        )  # fmt: skip

    return model.init(jax.random.key(0)), windows, trace
