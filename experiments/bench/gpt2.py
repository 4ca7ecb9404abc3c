"""GPT-2 124M in bfloat16: tokens a second, and the share of the device's speed it uses."""

import dataclasses
import time
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from el_jax.models import PRESETS, TransformerConfig, transformer
from experiments.bench.paired import Benchmark, Measurement, seconds_of
from experiments.bench.trainings import Updates, on_one_batch, random_batch


def model_flops(model: TransformerConfig, num_params: int, length: int) -> float:
    """Operations that training needs per token: ``6 n + 12 N H K T``, with n parameters.

    Chowdhery et al. 2022, arXiv 2204.02311, appendix B. The position table enters no
    product and does not count; the token table does, since it is tied to the head.
    """
    return 6.0 * num_params + 12.0 * model.num_layers * model.num_heads * model.head_dim * length


def measure(windows: int, num_updates: int, timings: int, product: int) -> Iterator[Measurement]:
    """Tokens a second and utilisation, on an accelerator.

    Args:
        windows: of an update.
        num_updates: updates of a timing.
        timings: number of timings.
        product: rows and columns of the matrices whose product is the yardstick.
    """
    model = dataclasses.replace(
        PRESETS["gpt2"],
        embedding_dropout=0.0,
        attention_dropout=0.0,
        residual_dropout=0.0,
        dtype="bfloat16",
        attention_impl="cudnn" if jax.default_backend() == "gpu" else "xla",
    )
    case = f"GPT-2 124M, {windows}x{model.max_length} tokens, bfloat16"
    if jax.default_backend() == "cpu":
        yield Measurement(case, not_measured="no accelerator")
    else:
        yield Measurement(case, utilisation(model, windows, num_updates, timings, product))


def utilisation(
    model: TransformerConfig, windows: int, num_updates: int, timings: int, product: int
) -> dict[str, np.ndarray]:
    """Tokens a second with all positions supervised, and the share of a product's speed."""
    batch = random_batch(model.vocab_size, windows, model.max_length)
    timing = seconds_of(Updates(on_one_batch(model, batch), num_updates))
    seconds = np.array([timing() for _ in range(timings + 1)][1:])
    tokens = batch.tokens.size * num_updates / seconds
    used = tokens * _flops_a_token(model)
    return {
        "tokens a second": tokens,
        f"model FLOPs / those of an {product} product": used / product_flops(product),
    }


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


BENCHMARK = Benchmark(measure, dict.fromkeys(("smoke", "cpu", "gpu"), (32, 10, 10, 8192)))
