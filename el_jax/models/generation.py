"""Text from a causal transformer, token after token; keys and values are computed once.

tokens = generate(config, params, prompt, 20)                                     # greedy
tokens = generate(config, params, prompt, 20, key=jax.random.key(0), temperature=0.8)
"""

from functools import partial
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Float, Int

from el_jax.models.attention import Attention, Scope, attend, rotate, rotation
from el_jax.models.config import TransformerConfig
from el_jax.models.functions import logits_of
from el_jax.models.transformer import Block, Transformer
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
        config: of a causal transformer.
        params: its parameters.
        prompt: token ids, at least one in each window.
        num_tokens: number of tokens to add to each.
        key: draws each token from the softmax; None takes the most probable one.
        temperature: the logits are divided by it before the softmax; above 0.

    Returns:
        The prompts with their continuations, ``total = T + num_tokens``.

    Raises:
        ValueError: the model is not causal, has no rows for so many positions, or an argument is
            out of its range.
    """
    length = prompt.shape[1]
    if not config.causal:
        raise ValueError("causal=False: must be True, since a token is drawn from earlier ones")
    if length < 1 or num_tokens < 0:
        raise ValueError(f"{length} and {num_tokens} tokens: must be at least 1 and 0")
    if config.position == "learned" and length + num_tokens > config.max_length:
        total = length + num_tokens
        raise ValueError(f"{total} tokens: must be at most max_length={config.max_length}")
    if not temperature > 0:
        raise ValueError(f"temperature={temperature}: must be above 0")
    return decode(config, params, prompt, length + num_tokens, key, temperature)[0]


@partial(jax.jit, static_argnums=(0, 3))
def decode(
    config: TransformerConfig,
    params: Params,
    prompt: Int[Array, "B T"],
    total: int,
    key: Key | None = None,
    temperature: float | Array = 1.0,
) -> tuple[Int[Array, "B total"], Float[Array, "B total V"]]:
    """The tokens of :func:`generate`, and the logits behind each of them.

    Logits are those of the model without a cache, up to rounding.
    """
    windows, length = prompt.shape
    module = _CachedTransformer(config, total)

    def one(cache: Any, tokens: Int[Array, " B"], place: Array) -> tuple[Float[Array, "B V"], Any]:
        variables = {"params": params, **({} if cache is None else {"cache": cache})}
        readout, changed = module.apply(variables, _one_token(tokens, place), mutable=["cache"])
        return logits_of(readout, config.matmul_precision)[:, 0], changed["cache"]

    def step(carry: tuple[Any, Array], place: Array) -> tuple[tuple[Any, Array], tuple[Any, Any]]:
        cache, drawn = carry
        tokens = jnp.where(place < length, prompt[:, jnp.minimum(place, length - 1)], drawn)
        logits, cache = one(cache, tokens, place)
        if key is None:
            drawn = logits.argmax(-1)
        else:
            drawn = jax.random.categorical(jax.random.fold_in(key, place), logits / temperature)
        return (cache, drawn.astype(prompt.dtype)), (tokens, logits)

    first = jnp.zeros(windows, prompt.dtype)
    empty = jax.eval_shape(one, None, first, jnp.int32(0))[1]
    start = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), empty)
    _, (tokens, logits) = lax.scan(step, (start, first), jnp.arange(total, dtype=jnp.int32))
    return tokens.T, logits.swapaxes(0, 1)


def _one_token(tokens: Int[Array, " B"], place: Int[Array, ""]) -> Batch:
    """A batch of one token in each window, at the same place in all."""
    zero = jnp.zeros_like(tokens[:, None])
    positions = jnp.broadcast_to(place, zero.shape)
    return Batch(tokens[:, None], zero, zero, zero == 0, zero, positions)


class _CachedTransformer(Transformer):
    """The transformer for one token at a time."""

    length: int = 0

    def _layers(
        self, x: Float[Array, "rows D"], batch: Batch, deterministic: bool
    ) -> Float[Array, "rows D"]:
        c, places = self.config, batch.positions
        assert places is not None  # of _one_token
        turned = rotation(places[:1], c)
        known = jnp.arange(self.length)[None, None] <= places[:1, :, None]
        scope = Scope(batch.tokens.shape[0], turned, turned, known, False)
        attention = partial(_CachedAttention, length=self.length, place=places[0, 0])
        for i in range(c.num_layers):
            block = Block(c, attention, name=f"layers_{i}")
            x = block(x, scope, batch.supervised, False, deterministic)
        return x


class _CachedAttention(Attention):
    """Attention of one token to itself and to those whose keys and values are kept."""

    length: int = 0
    place: Any = 0

    @nn.compact
    def __call__(
        self,
        queries: Float[Array, "queries D"],
        keys: Float[Array, "keys D"],
        scope: Scope,
        watched: Int[Array, "B P"] | None,
        deterministic: bool,
    ) -> Float[Array, "queries D"]:
        """Attention's addition to the residual stream, as of ``Attention``; without dropout."""
        del watched, deterministic
        c = self.config
        query = rotate(self._heads("q", queries, c.num_heads, scope), scope.query_rotation)
        key = rotate(self._heads("k", keys, c.kv_heads, scope), scope.key_rotation)
        value = self._heads("v", keys, c.kv_heads, scope)
        kept = self._kept("keys", key), self._kept("values", value)
        return self._output(attend(query, *kept, scope.mask, c.matmul_precision))

    def _kept(self, name: str, new: Float[Array, "B 1 KV K"]) -> Float[Array, "B length KV K"]:
        """All keys or values, with those of this token in their place."""
        windows, _, heads, size = new.shape
        shape = (windows, self.length, heads, size)
        kept = self.variable("cache", name, jnp.zeros, shape, new.dtype)
        kept.value = lax.dynamic_update_slice_in_dim(kept.value, new, self.place, axis=1)
        return kept.value
