"""Frozen features of a causal language model: the factors h of its logits W h."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from el_jax.types import Batch, ModelFns, Params, Readout
from experiments.harness.readers import Reader

CHUNK = 32  # contexts at once


def features(reader: Reader, contexts: Int[np.ndarray, "m T"]) -> Float[np.ndarray, "E m"]:
    """The head's input at the last token of each context, in float64."""
    width = -len(contexts) % CHUNK
    filled = np.concatenate([contexts, np.repeat(contexts[:1], width, axis=0)])
    chunks = filled.reshape(-1, CHUNK, contexts.shape[1])
    found = [_hidden(reader.model, reader.params, jnp.asarray(chunk)) for chunk in chunks]
    return np.concatenate(found)[: len(contexts)].T.astype(np.float64)


def decoder(reader: Reader, tokens: Int[np.ndarray, " V"]) -> Float[np.ndarray, "V E"]:
    """The rows of the model's own W for some tokens, in float64."""
    return np.asarray(_head(reader.model, reader.params), np.float64)[:, tokens].T


@functools.partial(jax.jit, static_argnames="model")
def _hidden(model: ModelFns, params: Params, contexts: Int[Array, "B T"]) -> Float[Array, "B E"]:
    return _readout(model, params, contexts).hidden[:, 0].astype(jnp.float32)


@functools.partial(jax.jit, static_argnames="model")
def _head(model: ModelFns, params: Params) -> Float[Array, "E V"]:
    return _readout(model, params, jnp.zeros((1, 1), jnp.int32)).head.astype(jnp.float32)


def _readout(model: ModelFns, params: Params, contexts: Int[Array, "B T"]) -> Readout:
    assert model.readout is not None  # every transformer has one
    last = jnp.full((len(contexts), 1), contexts.shape[1] - 1)
    none = jnp.zeros_like(last)
    return model.readout(params, Batch(contexts, last, none, last >= 0, none))
