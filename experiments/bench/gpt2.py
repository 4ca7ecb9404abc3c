"""GPT-2 124M in bfloat16: tokens a second, and the share of the device's speed it uses."""

import dataclasses
import time
from collections.abc import Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from el_jax.models import PRESETS, TransformerConfig, transformer
from experiments.bench.measurement import Measurement
from experiments.bench.timing import seconds_of
from experiments.bench.trainings import Updates, on_one_batch, random_batch

# operations a second on bfloat16 matrices, dense, as the vendor states them
NOMINAL_FLOPS = {
    "NVIDIA H200": 989.5e12,
    "NVIDIA H100 80GB HBM3": 989.5e12,
    "NVIDIA A100-SXM4-80GB": 312e12,
    "NVIDIA A100-SXM4-40GB": 312e12,
}


class Plan(NamedTuple):
    """Windows of an update, updates of a timing, and number of timings."""

    windows: int
    num_updates: int
    timings: int
    product: int  # rows and columns of the matrices whose product is the yardstick


PLANS = dict.fromkeys(("smoke", "cpu", "gpu"), Plan(32, 10, 10, 8192))


def model_flops(model: TransformerConfig, num_params: int, length: int) -> float:
    """Operations that training needs per token: ``6 n + 12 N H K T``, with n parameters.

    Chowdhery et al. 2022, arXiv 2204.02311, appendix B. The position table enters no
    product and does not count; the token table does, since it is tied to the head.
    """
    return 6.0 * num_params + 12.0 * model.num_layers * model.num_heads * model.head_dim * length


def measure(plan: Plan) -> Iterator[Measurement]:
    """Tokens a second and two utilisations, on an accelerator."""
    model = dataclasses.replace(
        PRESETS["gpt2"],
        embedding_dropout=0.0,
        attention_dropout=0.0,
        residual_dropout=0.0,
        dtype="bfloat16",
        attention_impl="cudnn" if jax.default_backend() == "gpu" else "xla",
    )
    case = f"GPT-2 124M, {plan.windows}x{model.max_length} tokens, bfloat16"
    if jax.default_backend() == "cpu":
        yield Measurement(case, not_measured="no accelerator")
    else:
        yield Measurement(case, utilisation(model, plan))


def utilisation(model: TransformerConfig, plan: Plan) -> dict[str, Float[np.ndarray, "rounds"]]:
    """Tokens a second of a training, and the share of the device's speed that they need."""
    tokens = tokens_per_second(model, plan)
    used = tokens * _flops_a_token(model)
    values = {
        "tokens a second": tokens,
        f"model FLOPs / those of an {plan.product} product": used / product_flops(plan.product),
    }
    nominal = NOMINAL_FLOPS.get(jax.devices()[0].device_kind)
    return values if nominal is None else {**values, "model FLOPs / nominal": used / nominal}


def tokens_per_second(model: TransformerConfig, plan: Plan) -> Float[np.ndarray, "rounds"]:
    """Tokens a second of whole updates of the engine, with all positions supervised."""
    batch = random_batch(model.vocab_size, plan.windows, model.max_length)
    timing = seconds_of(Updates(on_one_batch(model, batch), plan.num_updates))
    seconds = np.array([timing() for _ in range(plan.timings + 1)][1:])
    return batch.tokens.size * plan.num_updates / seconds


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
