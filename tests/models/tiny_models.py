"""Every preset at a size that runs in milliseconds, and batches for it."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from el_jax.models import PRESETS, TransformerConfig, transformer
from el_jax.types import Batch, ModelFns, Params

V, T, B = 11, 8, 2
SIZES = {
    "vocab_size": V,
    "width": 16,
    "num_layers": 2,
    "num_heads": 2,
    "mlp_width": 24,
    "max_length": 12,
}
TINY: dict[str, TransformerConfig] = {
    "gpt_neox": dataclasses.replace(PRESETS["gpt_neox"], **SIZES),
    "gpt2": dataclasses.replace(PRESETS["gpt2"], **SIZES),
    "opt": dataclasses.replace(PRESETS["opt"], **SIZES),
    "bert": dataclasses.replace(PRESETS["bert"], **SIZES),
    "budget_bert": dataclasses.replace(PRESETS["budget_bert"], **SIZES),
    "llama": dataclasses.replace(PRESETS["llama"], **SIZES | {"num_heads": 4, "num_kv_heads": 2}),
    # no preset has a narrow token table, or norms after the branches in a causal model
    "opt_350m": dataclasses.replace(
        PRESETS["opt"], **SIZES, embedding_width=6, norm_placement="post", final_norm=False
    ),
}


def bert_of(task, width: int = 16) -> TransformerConfig:
    """budget_bert in one layer, for a task."""
    sizes = {"vocab_size": task.vocab_size, "max_length": task.window_length, "width": width}
    return dataclasses.replace(PRESETS["budget_bert"], num_layers=1, num_heads=2, **sizes)


def random_params(config: TransformerConfig, seed: int = 0) -> Params:
    """Parameters of the right shapes without zeros and ones, so that each affects the output."""
    rng = np.random.default_rng(seed)
    shapes = jax.eval_shape(transformer(config).init, jax.random.key(0))
    return jax.tree.map(lambda x: jnp.asarray(0.4 * rng.normal(size=x.shape), x.dtype), shapes)


@functools.cache
def model(config: TransformerConfig) -> tuple[ModelFns, Params]:
    """The compiled network of a configuration and random parameters for it."""
    fns = transformer(config)
    compiled = ModelFns(fns.init, jax.jit(fns.apply), jax.jit(fns.attention))
    return compiled, random_params(config)


def batch_of(tokens, supervised=None, positions=None, documents=None) -> Batch:
    """A batch supervised everywhere unless told otherwise."""
    tokens = jnp.asarray(tokens)
    if supervised is None:
        supervised = jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape)
    supervised = jnp.asarray(supervised)
    labels = jnp.take_along_axis((tokens + 1) % V, supervised, axis=1)
    mask = jnp.ones(supervised.shape, bool)
    return Batch(tokens, supervised, labels, mask, jnp.zeros_like(labels), positions, documents)


def random_tokens(seed: int = 0, windows: int = B, length: int = T):
    return jax.random.randint(jax.random.key(seed), (windows, length), 0, V)
