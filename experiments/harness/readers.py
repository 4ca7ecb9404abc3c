"""A causal language model with a text to read, for experiments on pretrained models."""

import dataclasses
import functools
import os
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Int

from el_jax.models import PRESETS, transformer
from el_jax.models.pretrained import load_exact
from el_jax.process.errors import ConfigError
from el_jax.tasks.king_james import encode_words, king_james_words, verses
from el_jax.tokenizers import load_tokenizer, smollm2_gguf
from el_jax.types import Key, ModelFns, Params

MODEL = "EL_JAX_PRETRAINED"  # environment variable: a folder or GGUF file instead of SmolLM2's


class Reader(NamedTuple):
    """A text, and a model to read it.

    Attributes:
        tokens: tokens of the text.
        model: the network, in float32 and with attention that can be differentiated twice.
        params: its trained parameters.
    """

    tokens: Int[np.ndarray, " n"]
    model: ModelFns
    params: Params


@functools.cache
def pretrained_reader() -> Reader:
    """Genesis and SmolLM2-135M, or the model that the environment names.

    Raises:
        ConfigError: the model is not causal.
        MissingPackageError: the package with SmolLM2 is not installed.
        PretrainedError: a file cannot be read.
    """
    named = os.environ.get(MODEL)
    model, params, config = load_exact(named or smollm2_gguf())
    if not config.causal:
        raise ConfigError(f"{MODEL}={named}: must be a causal model: this one sees the next token")
    text = " ".join(verse for book, verse in verses() if book == "Genesis")
    tokens = np.array(load_tokenizer(named or "smollm2").encode(text).ids)
    return Reader(tokens, model, params)


@functools.cache
def drawn_reader() -> Reader:
    """Genesis in words and a small untrained network, to test the code in seconds."""
    tokens, words = encode_words(king_james_words())
    config = dataclasses.replace(
        PRESETS["llama"], vocab_size=len(words), width=64, num_layers=1, num_heads=4, num_kv_heads=2
    )
    model = transformer(config)
    return Reader(tokens, model, model.init(jax.random.key(0)))


def fresh(reader: Reader, key: Key) -> Reader:
    """The same architecture, newly initialised."""
    return reader._replace(params=jax.jit(reader.model.init)(key))
