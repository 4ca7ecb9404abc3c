"""Frozen features of a causal language model: the factors h of its logits W h."""

import dataclasses
import functools
import os
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from el_jax.models import PRESETS, transformer
from el_jax.models.pretrained import load_pretrained
from el_jax.runtime.errors import ConfigError
from el_jax.tasks.king_james import encode_words, king_james_words, verses
from el_jax.tokenizers import load_tokenizer, smollm2_gguf
from el_jax.types import Batch, Key, ModelFns, Params, Readout

MODEL = "EL_JAX_PRETRAINED"  # environment variable: a folder or GGUF file instead of SmolLM2's
CHUNK = 32  # contexts at once


class Reader(NamedTuple):
    """A text, and a model that reads it.

    Attributes:
        tokens: of the text.
        model: the network.
        params: its trained parameters.
    """

    tokens: Int[np.ndarray, " n"]
    model: ModelFns
    params: Params


@functools.cache
def pretrained_reader() -> Reader:
    """Genesis and SmolLM2-135M, or the model that the environment names.

    Raises:
        ConfigError: the model looks ahead.
        MissingPackageError: the package with SmolLM2 is not installed.
        PretrainedError: a file cannot be read.
    """
    named = os.environ.get(MODEL)
    model, params, config = load_pretrained(named or smollm2_gguf())
    if not config.causal:
        raise ConfigError(f"{MODEL}={named}: must be a causal model: this one sees the next token")
    text = " ".join(verse for book, verse in verses() if book == "Genesis")
    return Reader(np.array(load_tokenizer(named or "smollm2").encode(text).ids), model, params)


@functools.cache
def drawn_reader() -> Reader:
    """Genesis in words and a small network that nobody trained, to try the code in seconds."""
    tokens, words = encode_words(king_james_words())
    config = dataclasses.replace(
        PRESETS["llama"], vocab_size=len(words), width=64, num_layers=1, num_heads=4, num_kv_heads=2
    )
    model = transformer(config)
    return Reader(tokens, model, model.init(jax.random.key(0)))


def fresh(reader: Reader, key: Key) -> Reader:
    """The same architecture as it is before its training."""
    return reader._replace(params=jax.jit(reader.model.init)(key))


def features(reader: Reader, contexts: Int[np.ndarray, "m T"]) -> Float[np.ndarray, "E m"]:
    """The head's input behind the last token of each context, in float64."""
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
