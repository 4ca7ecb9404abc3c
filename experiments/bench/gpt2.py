"""GPT-2 124M in bfloat16: tokens a second, and the share of the device's speed it uses."""

import dataclasses
import time
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from el_jax.models import PRESETS, TransformerConfig, transformer
from experiments.bench.paired import Estimate, median_interval
from experiments.bench.rows import Row, at_least, estimated, not_measured
from experiments.bench.scales import Scale
from experiments.bench.timing import seconds_of
from experiments.bench.trainings import Updates, on_one_batch, random_batch

NAME = "gpt2"
GOAL = at_least(0.4)
# operations a second on bfloat16 matrices, dense, as the vendor states them
NOMINAL_FLOPS = {
    "NVIDIA H200": 989.5e12,
    "NVIDIA H100 80GB HBM3": 989.5e12,
    "NVIDIA A100-SXM4-80GB": 312e12,
    "NVIDIA A100-SXM4-40GB": 312e12,
}


class _Plan(NamedTuple):
    windows: int
    num_updates: int
    timings: int
    product: int  # rows and columns of the matrices whose product is the yardstick


_LARGE = _Plan(windows=32, num_updates=10, timings=10, product=8192)
_TINY = _Plan(windows=2, num_updates=1, timings=1, product=64)


def model_flops(model: TransformerConfig, num_params: int, length: int) -> float:
    """Operations that training needs per token: ``6 n + 12 N H K T``, with n parameters.

    Chowdhery et al. 2022, arXiv 2204.02311, appendix B. The position table enters no
    product and does not count; the token table does, since it is tied to the head.
    """
    return 6.0 * num_params + 12.0 * model.num_layers * model.num_heads * model.head_dim * length


def measure(scale: Scale) -> list[Row]:
    """Tokens a second and two utilisations; on a CPU a tiny model, only to show that it runs."""
    accelerated = scale == "gpu" and jax.devices()[0].platform != "cpu"
    plan = _LARGE if accelerated else _TINY
    model = dataclasses.replace(
        PRESETS["gpt2"],
        embedding_dropout=0.0,
        attention_dropout=0.0,
        residual_dropout=0.0,
        dtype="bfloat16",
        attention_impl="cudnn" if jax.default_backend() == "gpu" else "xla",
    )
    if not accelerated:
        model = dataclasses.replace(
            model, vocab_size=128, width=32, num_layers=1, num_heads=2, max_length=16
        )
    tokens_per_second = _tokens_per_second(model, plan)
    case = f"GPT-2 124M, {_LARGE.windows}x{PRESETS['gpt2'].max_length} tokens, bfloat16"
    of_product = "model FLOPs / those of an 8192 product"
    if not accelerated:
        reason = "no accelerator"
        return [
            not_measured(NAME, case, "tokens a second", reason),
            not_measured(NAME, case, of_product, reason, GOAL),
        ]
    used = [value * _flops_a_token(model) for value in tokens_per_second]
    rows = [
        estimated(NAME, case, "tokens a second", tokens_per_second),
        estimated(NAME, case, of_product, _share(used, product_flops(plan.product)), GOAL),
    ]
    nominal = NOMINAL_FLOPS.get(jax.devices()[0].device_kind)
    if nominal is not None:
        rows.append(estimated(NAME, case, "model FLOPs / nominal", _share(used, nominal)))
    return rows


def _share(used: list[float], available: float) -> Estimate:
    return Estimate(*(value / available for value in used))


def _tokens_per_second(model: TransformerConfig, plan: _Plan) -> Estimate:
    """Tokens a second of whole updates of the engine, with all positions supervised."""
    batch = random_batch(model.vocab_size, plan.windows, model.max_length)
    timing = seconds_of(Updates(on_one_batch(model, batch), plan.num_updates))
    seconds = np.array([timing() for _ in range(plan.timings + 1)][1:])
    return median_interval(batch.tokens.size * plan.num_updates / seconds)


def _flops_a_token(model: TransformerConfig) -> float:
    shapes = jax.eval_shape(transformer(model).init, jax.random.key(0))
    sizes = {
        name: sum(leaf.size for leaf in jax.tree.leaves(part)) for name, part in shapes.items()
    }
    return model_flops(model, sum(sizes.values()) - sizes["pos_emb"], model.max_length)


def product_flops(size: int, times: int = 20) -> float:
    """Measured operations a second of a product of square bfloat16 matrices."""
    matrix = jnp.ones((size, size), jnp.bfloat16)
    product = jax.jit(jnp.matmul)
    jax.block_until_ready(product(matrix, matrix))
    start = time.perf_counter()
    jax.block_until_ready([product(matrix, matrix) for _ in range(times)])
    return 2.0 * size**3 * times / (time.perf_counter() - start)
