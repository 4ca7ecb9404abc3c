"""Text from a causal transformer, token by token; keys and values are computed once.

tokens = generate(config, params, prompt, 20)                                     # greedy
tokens = generate(config, params, prompt, 20, key=jax.random.key(0), temperature=0.8)
"""

import dataclasses
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Float, Int

from el_jax.models.attention import Attention
from el_jax.models.config import TransformerConfig
from el_jax.models.functions import check_tokens, logits_of
from el_jax.models.transformer import Transformer
from el_jax.types import Batch, Key, Params


def generate(
    config: TransformerConfig,
    params: Params,
    prompt: Int[Array, "B T"],
    num_tokens: int,
    *,
    key: Key | None = None,
    temperature: float = 1.0,
) -> Int[Array, "B total"]:
    """Continue prompts, all of one length.

    Args:
        config: a causal transformer.
        params: its parameters.
        prompt: token ids, at least one in each window.
        num_tokens: number of tokens to add to each.
        key: draws each token from the softmax; None takes the most probable one.
        temperature: divisor of the logits before the softmax; above 0.

    Returns:
        The prompts with their continuations, ``total = T + num_tokens``.

    Raises:
        ValueError: the model is not causal or has too few positions, or an argument or a token id
            is out of range.
    """
    length = prompt.shape[1]
    if not config.causal:
        raise ValueError("causal=False: must be True, since a token is drawn from earlier ones")
    if length < 1:
        raise ValueError("the prompt has no token: must have at least one")
    if num_tokens < 0:
        raise ValueError(f"num_tokens={num_tokens}: must be at least 0")
    if config.position == "learned" and length + num_tokens > config.max_length:
        total = length + num_tokens
        raise ValueError(f"{total} tokens: must be at most max_length={config.max_length}")
    if not temperature > 0:
        raise ValueError(f"temperature={temperature}: must be above 0")
    check_tokens(prompt, config.vocab_size)
    if num_tokens == 0:
        return prompt
    return decode(config, params, prompt, num_tokens, key, temperature)[0]


@partial(jax.jit, static_argnums=(0, 3))
def decode(
    config: TransformerConfig,
    params: Params,
    prompt: Int[Array, "B T"],
    num_tokens: int,
    key: Key | None = None,
    temperature: float | Array = 1.0,
) -> tuple[Int[Array, "B total"], Float[Array, "B added V"]]:
    """The tokens of :func:`generate`, at least one of them added, and the logits of each added one.

    The prompt is read at once. Logits equal those of the model without a cache, up to rounding.
    """
    length = prompt.shape[1]
    # the cache needs every layer apart; for one token at a time flash attention brings nothing
    config = dataclasses.replace(config, scan_layers=False, attention_impl="xla")

    def read(
        tokens: Int[Array, "B new"], place: Array | None, cache: Params
    ) -> tuple[Float[Array, "B V"], Int[Array, " B"], Params]:
        attention = partial(_Remembering, room=length + num_tokens, place=place)
        variables = {"params": params, **cache}
        batch = _asking_last(tokens, place)
        readout, cache = Transformer(config, attention).apply(variables, batch, mutable=["cache"])
        logits = logits_of(readout, config.matmul_precision)[:, 0]
        if key is None:
            drawn = logits.argmax(-1)
        else:
            last = length - 1 if place is None else place
            drawn = jax.random.categorical(jax.random.fold_in(key, last), logits / temperature)
        return logits, drawn.astype(prompt.dtype), cache

    def step(carry: tuple[Array, Params], place: Array) -> tuple[tuple[Array, Params], Any]:
        logits, drawn, cache = read(carry[0][:, None], place, carry[1])
        return (drawn, cache), (logits, drawn)

    logits, drawn, cache = read(prompt, None, {})
    places = jnp.arange(length, length + num_tokens - 1, dtype=jnp.int32)
    _, (later_logits, later) = lax.scan(step, (drawn, cache), places)
    tokens = jnp.concatenate([prompt, drawn[:, None], later.T], axis=1)
    return tokens, jnp.concatenate([logits[:, None], later_logits.swapaxes(0, 1)], axis=1)


def _asking_last(tokens: Int[Array, "B new"], place: Array | None) -> Batch:
    """A batch supervised at its last token; a single token is at ``place``."""
    last = jnp.full((tokens.shape[0], 1), tokens.shape[1] - 1)
    positions = None if place is None else jnp.broadcast_to(place, tokens.shape)
    return Batch(tokens, last, last, last >= 0, last, positions=positions)


class _Remembering(Attention):
    """Attention that keeps keys and values, first of a prompt, then of one token at a time.

    Attributes:
        room: number of tokens to keep.
        place: position of the single token; None for a prompt.
    """

    room: int = 0
    place: Any = None

    def attended(
        self,
        key: Float[Array, "B T KV K"],
        value: Float[Array, "B T KV K"],
        mask: Bool[Array, "b Q T"] | None,
    ) -> tuple[Array, Array, Bool[Array, "some Q all"] | None]:
        """As in ``Attention``, with keys and values of all earlier tokens."""
        new = {"keys": key, "values": value}
        if self.place is None:
            more = (0, 0), (0, self.room - key.shape[1]), (0, 0), (0, 0)
            for name, own in new.items():
                self.put_variable("cache", name, jnp.pad(own, more))
            return key, value, mask
        for name, own in new.items():
            kept: Array = self.get_variable("cache", name)
            new[name] = lax.dynamic_update_slice_in_dim(kept, own, self.place, axis=1)
            self.put_variable("cache", name, new[name])
        return new["keys"], new["values"], (jnp.arange(self.room) <= self.place)[None, None]
