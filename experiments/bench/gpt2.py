"""GPT-2 124M in bfloat16: tokens a second, and the share of the device's speed it uses."""

import time

import jax
import jax.numpy as jnp
import numpy as np

from el_jax.models import TransformerConfig, transformer
from experiments.bench.paired import Benchmark, Case, NotMeasuredError, Values, seconds_of
from experiments.bench.trainings import Updates, network, on_one_batch, random_batch

PRODUCT = 8192  # rows and columns of the matrices whose product is the yardstick


def model_flops(model: TransformerConfig, num_params: int, length: int) -> float:
    """Operations that training needs per token: ``6 n + 12 N H K T``, with n parameters.

    Chowdhery et al. 2022, arXiv 2204.02311, appendix B. The position table is in no product and
    does not count; the token table does, since it is tied to the head.
    """
    return 6.0 * num_params + 12.0 * model.num_layers * model.num_heads * model.head_dim * length


def measure(case: Case, num_updates: int, timings: int) -> Values:
    """Tokens per second with all positions supervised, and the speed relative to a matrix product.

    Raises:
        NotMeasuredError: there is no accelerator.
    """
    if jax.default_backend() == "cpu":
        raise NotMeasuredError("no accelerator")
    attention = "cudnn" if jax.default_backend() == "gpu" else "xla"
    model = network(case["preset"], case, dtype="bfloat16", attention_impl=attention)
    batch = random_batch(model.vocab_size, case["windows"], case["length"])
    timing = seconds_of(Updates(on_one_batch(model, batch), num_updates))
    seconds = np.array([timing() for _ in range(timings + 1)][1:])
    tokens = batch.tokens.size * num_updates / seconds
    used = tokens * _flops_a_token(model)
    return {
        "tokens a second": tokens,
        f"model FLOPs / those of an {PRODUCT} product": used / product_flops(PRODUCT),
    }


def _flops_a_token(model: TransformerConfig) -> float:
    shapes = jax.eval_shape(transformer(model).init, jax.random.key(0))
    num_params = sum(leaf.size for leaf in jax.tree.leaves({**shapes, "pos_emb": ()}))
    return model_flops(model, num_params, model.max_length)


def product_flops(size: int, times: int = 20) -> float:
    """Measured operations per second of a product of square bfloat16 matrices."""
    matrix = jnp.ones((size, size), jnp.bfloat16)
    product = jax.jit(jnp.matmul)
    jax.block_until_ready(product(matrix, matrix))
    start = time.perf_counter()
    jax.block_until_ready([product(matrix, matrix) for _ in range(times)])
    return 2.0 * size**3 * times / (time.perf_counter() - start)


_CASE = {"preset": "gpt2", "windows": 32, "length": 1024}
_PLAN = ({"GPT-2 124M, 32x1024 tokens, bfloat16": _CASE}, 10, 10)
BENCHMARK = Benchmark(measure, dict.fromkeys(("smoke", "cpu", "gpu"), _PLAN))
