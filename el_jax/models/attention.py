"""Attention: the mask, rotary positions, and the weighted sum itself."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

from el_jax.models.config import TransformerConfig
from el_jax.models.layers import Dense, Norm
from el_jax.models.wide_products import wide_einsum
from el_jax.types import Batch

Rotation = tuple[Float[Array, "b Q 1 pairs"], Float[Array, "b Q 1 pairs"]]


class Places(NamedTuple):
    """Places of tokens in their windows; the leading axis is 1 where all windows agree.

    Attributes:
        order: place in the window, for the causal mask, ``[1 or B, Q]``.
        positions: position for the rotation, ``[1 or B, Q]``; a NumPy array if it does not depend
            on the batch.
        documents: the document each token belongs to, ``[B, Q]``, or None.
    """

    order: Int[Array, "b Q"]
    positions: Int[Array | np.ndarray, "b Q"]
    documents: Int[Array, "B Q"] | None


class Scope(NamedTuple):
    """Number of windows, and the rotations and mask of an attention layer's queries and keys.

    Attributes:
        num_windows: B, to unfold rows of tokens into windows.
        query_rotation: rotary cosines and sines of the queries; None without rotary positions.
        key_rotation: the same for the keys.
        mask: True where a query may attend to a key, ``[1 or B, Q, T]``; None for everywhere.
        flash: True if :func:`flash_attend` may replace :func:`attend`.
    """

    num_windows: int
    query_rotation: Rotation | None
    key_rotation: Rotation | None
    mask: Bool[Array, "b Q T"] | None
    flash: bool


def all_places(batch: Batch) -> Places:
    """The places of all tokens."""
    length = batch.tokens.shape[1]
    order = jnp.arange(length)[None]
    positions = np.arange(length)[None] if batch.positions is None else batch.positions
    return Places(order, positions, batch.documents)


def supervised_places(batch: Batch) -> Places:
    """The places of the supervised tokens."""
    order = batch.supervised
    positions = order if batch.positions is None else _pick(batch.positions, order)
    documents = None if batch.documents is None else _pick(batch.documents, order)
    return Places(order, positions, documents)


def _pick(values: Int[Array, "B T"], index: Int[Array, "B P"]) -> Int[Array, "B P"]:
    return jnp.take_along_axis(values, index, axis=1)


def scope(batch: Batch, config: TransformerConfig, supervised_only: bool) -> Scope:
    """The scope of a block whose queries are all tokens, or the supervised ones only."""
    keys = all_places(batch)
    queries = supervised_places(batch) if supervised_only else keys
    return Scope(
        num_windows=batch.tokens.shape[0],
        query_rotation=rotation(queries.positions, config),
        key_rotation=rotation(keys.positions, config),
        mask=attention_mask(queries, keys, config.causal),
        flash=config.attention_impl == "cudnn" and not supervised_only and batch.documents is None,
    )


def attention_mask(queries: Places, keys: Places, causal: bool) -> Bool[Array, "b Q T"] | None:
    """True where the query may attend to the key; None where it always may."""
    mask = None
    if causal:
        mask = queries.order[:, :, None] >= keys.order[:, None, :]
    if queries.documents is not None and keys.documents is not None:
        same = queries.documents[:, :, None] == keys.documents[:, None, :]
        mask = same if mask is None else mask & same
    return mask


def rotation(
    positions: Int[Array | np.ndarray, "b Q"], config: TransformerConfig
) -> Rotation | None:
    """Cosine and sine of the rotary angles, ``position * base**(-2j / r)`` for j < r/2.

    Source: Su et al. 2021, arXiv 2104.09864, eq. 15. ``[b, Q, 1, r/2]``, the same for all heads,
    where r is ``config.rotary_dim``; None where positions are not rotary.
    """
    if config.position != "rope":
        return None
    exponents = np.arange(0, config.rotary_dim, 2) / config.rotary_dim
    frequencies = (config.rotary_base**-exponents).astype(np.float32)
    angles = positions[:, :, None, None].astype(np.float32) * frequencies[None, None, None]
    if isinstance(angles, np.ndarray):
        # computed here as constants: XLA would recompute the cosines for every head and window
        # inside the loops it fuses them into (a tenth of a small model's step on CPU)
        return jnp.asarray(np.cos(angles)), jnp.asarray(np.sin(angles))
    return jnp.cos(angles), jnp.sin(angles)


def rotate(x: Float[Array, "B Q heads K"], cos_sin: Rotation | None) -> Float[Array, "B Q heads K"]:
    """Rotate the pairs ``(x[j], x[j + r])`` of each head, j < r; entries from 2r on stay.

    The pairing is that of GPT-NeoX and Llama as published by Hugging Face ("rotate half").
    """
    if cos_sin is None:
        return x
    cos, sin = cos_sin
    half = cos.shape[-1]
    first, second, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    rotated = (first * cos - second * sin, second * cos + first * sin)
    return jnp.concatenate((*(part.astype(x.dtype) for part in rotated), rest), axis=-1)


@jax.custom_jvp
def softmax(scores: Float[Array, "*rows T"]) -> Float[Array, "*rows T"]:
    """Softmax over the last axis, with the tangent ``p (ds - <p, ds>)``.

    ``jax.nn.softmax`` has this tangent under ``jax_softmax_custom_jvp``; its default differentiates
    the quotient instead, which costs more passes over the weights and more memory.
    """
    scores = jnp.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True)


@softmax.defjvp
def _softmax_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    weights = softmax(primals[0])
    change = weights * tangents[0]
    return weights, change - weights * change.sum(-1, keepdims=True)


def attention_weights(
    query: Float[Array, "B Q H K"],
    key: Float[Array, "B T KV K"],
    mask: Bool[Array, "b Q T"] | None,
    precision: str = "default",
) -> Float[Array, "B H Q T"]:
    """Softmax over keys of ``query . key / sqrt(K)``, in float32 (Vaswani et al. 2017, eq. 1).

    Query head h reads key-value head ``h // (H / KV)``. Each query needs at least one allowed key.
    """
    batch, length, heads, size = query.shape
    # Scale the queries, K numbers each, rather than their T scores.
    grouped = query.reshape(batch, length, key.shape[2], -1, size)
    scores = wide_einsum("bqghk,btgk->bghqt", grouped * size**-0.5, key, precision)
    scores = scores.reshape(batch, heads, length, -1)
    if mask is not None:  # a finite minimum, since a row of only -inf would give NaN
        scores = jnp.where(mask[:, None], scores, jnp.finfo(scores.dtype).min)
    return softmax(scores)


def attend(
    query: Float[Array, "B Q H K"],
    key: Float[Array, "B T KV K"],
    value: Float[Array, "B T KV K"],
    mask: Bool[Array, "b Q T"] | None,
    precision: str = "default",
    drop: Callable[[Array], Array] = lambda weights: weights,
) -> Float[Array, "B Q H K"]:
    """Values averaged with :func:`attention_weights`, for each query.

    Args:
        query: queries, at all tokens or at a few.
        key: keys, at all tokens.
        value: values, at all tokens.
        mask: True where a query may attend; None for everywhere.
        precision: precision of the two products.
        drop: dropout, applied to the weights.
    """
    weights = drop(attention_weights(query, key, mask, precision)).astype(value.dtype)
    batch, heads, length, total = weights.shape
    grouped = weights.reshape(batch, value.shape[2], -1, length, total)
    out = jnp.einsum("bghqt,btgk->bqghk", grouped, value, precision=precision)
    return out.reshape(batch, length, heads, -1)


def flash_attend(
    query: Float[Array, "B T H K"],
    key: Float[Array, "B T KV K"],
    value: Float[Array, "B T KV K"],
    causal: bool,
    implementation: Literal["xla", "cudnn"] = "cudnn",
) -> Float[Array, "B T H K"]:
    """:func:`attend` for queries at all tokens of one document, without storing the weights.

    Dao 2023, arXiv 2307.08691, as implemented by cuDNN. It has no second derivatives.
    """
    return jax.nn.dot_product_attention(
        query, key, value, is_causal=causal, implementation=implementation
    )


class Attention(nn.Module):
    """Multi-head attention: queries and output at some rows, keys and values at all."""

    config: TransformerConfig

    @nn.compact
    def __call__(
        self,
        queries: Float[Array, "queries D"],
        keys: Float[Array, "keys D"],
        scope: Scope,
        watched: Int[Array, "B P"] | None,
        deterministic: bool,
    ) -> Float[Array, "queries D"]:
        """Attention's addition to the residual stream, at the rows of ``queries``.

        Args:
            queries: the attending tokens, window after window.
            keys: the attended tokens.
            scope: rotations and mask of both.
            watched: the queries in each window whose weights are recorded, if ``intermediates``
                is mutable; None for all.
            deterministic: True for no dropout.
        """
        c = self.config
        query = rotate(self._heads("q", queries, c.num_heads, scope), scope.query_rotation)
        key = rotate(self._heads("k", keys, c.kv_heads, scope), scope.key_rotation)
        value = self._heads("v", keys, c.kv_heads, scope)
        key, value, mask = self.attended(key, value, scope.mask)
        if self.is_mutable_collection("intermediates"):
            weights = attention_weights(query, key, mask, c.matmul_precision)
            if watched is not None:
                weights = jnp.take_along_axis(weights, watched[:, None, :, None], axis=2)
            self.sow("intermediates", "weights", weights)
        if scope.flash:
            out = flash_attend(query, key, value, c.causal)
        else:
            drop = nn.Dropout(c.attention_dropout, deterministic=deterministic)
            out = attend(query, key, value, mask, c.matmul_precision, drop)
        dense = Dense(c, out.shape[-2:], (c.width,), c.attention_out_bias, c.residual_std, name="o")
        return dense(out.reshape(-1, c.num_heads * c.head_dim))

    def attended(
        self,
        key: Float[Array, "B T KV K"],
        value: Float[Array, "B T KV K"],
        mask: Bool[Array, "b Q T"] | None,
    ) -> tuple[Array, Array, Bool[Array, "some Q all"] | None]:
        """All keys and values, and their mask; a subclass may have more than the batch's own."""
        return key, value, mask

    def _heads(
        self, name: str, x: Float[Array, "rows D"], heads: int, scope: Scope
    ) -> Float[Array, "B Q heads K"]:
        c = self.config
        dense = Dense(c, (c.width,), (heads, c.head_dim), c.attention_bias, c.matrix_std, name=name)
        rows = dense(x).reshape(-1, c.head_dim)
        if c.qk_norm and name != "v":
            rows = Norm(c, name=f"{name}_norm")(rows).astype(rows.dtype)
        return rows.reshape(scope.num_windows, -1, heads, c.head_dim)
