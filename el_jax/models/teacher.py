"""A world whose sentences are drawn from a published or exported causal model.

Liu, Xie, Li, Ma 2023 (arXiv 2210.14199), section 3, draw theirs from OPT-125M.
"""

import functools

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Int

from el_jax.models.pretrained import load_pretrained
from el_jax.process.errors import require
from el_jax.types import Key
from el_jax.worlds import LanguageModel, restricted_model

_SEED = 0  # of the sentences that are counted, so that a teacher's words are always the same


def language_model(
    *, path: str, num_words: int = 64, begin: int = 0, length: int = 12, counted: int = 512
) -> LanguageModel:
    """The world of a causal model in files, restricted to its most frequent tokens.

    The paper takes the 2,000 most frequent tokens and does not say of which text. Here they are
    counted in unrestricted sentences of the model itself.

    Args:
        path: a Hugging Face folder, or a GGUF file. ``python -m el_jax.export`` writes such a
            folder from a training.
        num_words: V.
        begin: the token before the first word, not a word itself.
        length: T, tokens per sentence.
        counted: number of sentences in which tokens are counted.

    Raises:
        PretrainedError: the files cannot be read.
        ValueError: the model sees later tokens or has no token ``begin``, a sentence is longer than
            its positions, or fewer than ``num_words`` tokens occurred.
    """
    model, params, config = load_pretrained(path)
    require("path", path, config.causal, "a model that does not see later tokens")
    require("begin", begin, 0 <= begin < config.vocab_size, f"in 0..{config.vocab_size - 1}")
    require("length", length, 1 <= length <= config.max_length, f"in 1..{config.max_length}")
    require("counted", counted, counted >= 1, "at least 1")
    unrestricted = LanguageModel(model.apply, params, jnp.arange(config.vocab_size), begin, length)
    counts = _count(unrestricted, jax.random.key(_SEED), counted)
    return restricted_model(
        model.apply, params, counts, num_words=num_words, begin=begin, length=length
    )


@functools.partial(jax.jit, static_argnames="num")
def _count(world: LanguageModel, key: Key, num: int) -> Int[Array, "tokens"]:
    """The number of times that each word occurs in some sentences."""
    return jnp.bincount(world.sample(key, num).tokens.ravel(), length=world.vocab_size)
