"""One transformer for GPT-NeoX, GPT-2, OPT, BERT and Llama; see ``config`` for the switches.

Parameter names are the same for all of them::

    tok_emb [V, E]   pos_emb [offset + length, D]   type_emb [types, D]   emb_ln   project_in
    layers_i / ln1, ln2 / scale, bias [D]
               attn / q, k, v / kernel [D, H, K], bias [H, K];  o / kernel [H, K, D], bias [D]
               mlp / in, gate / kernel [D, F], bias [F];        out / kernel [F, D], bias [D]
    final_ln   head_dense   head_ln   project_out   head / kernel [E, V], bias [V]

Only activations that reach the supervised logits are computed: the last block computes keys and
values at all tokens, but queries, output projection and MLP only at the supervised ones.
"""

from collections.abc import Callable
from typing import cast

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from el_jax.models.attention import Attention, Scope, scope
from el_jax.models.config import TransformerConfig
from el_jax.models.functions import check_tokens, everywhere, functions_of, logits_of
from el_jax.models.layers import ACTIVATIONS, Dense, Norm, as_operand
from el_jax.models.look import looks_into
from el_jax.types import Batch, Key, ModelFns, Params, Readout


def transformer(config: TransformerConfig) -> ModelFns:
    """The network of a configuration, as pure functions.

    Args:
        config: all its switches; ``el_jax.models.presets`` has the published ones.

    Returns:
        ``init(key)``; ``apply(params, batch, key=None)``, logits at the supervised positions;
        ``attention(params, batch)``, the attention weights of the queries there; ``readout``, the
        factors of the logits; and ``features(params, batch)``, the stream at all tokens after the
        last norm. All can be vmapped over params, and ``apply`` can be differentiated twice (except
        through cuDNN's attention).
    """
    module = Transformer(config)

    def attention(params: Params, batch: Batch) -> Float[Array, "N B H P T"]:
        check_tokens(batch.tokens, config.vocab_size)
        _, seen = module.apply({"params": params}, batch, mutable="intermediates")
        layers = (seen["intermediates"][f"layers_{i}"] for i in range(config.num_layers))
        return jnp.stack([layer["attn"]["weights"][0] for layer in layers])

    return functions_of_stack(module)._replace(attention=attention, look=looks_into(module))


def functions_of_stack(module: "Transformer") -> ModelFns:
    """The pure functions of a transformer or a subclass, except ``attention``."""
    config = module.config
    init, readout = functions_of(module, drops=config.uses_dropout)

    def apply(params: Params, batch: Batch, key: Key | None = None) -> Float[Array, "B P V"]:
        return logits_of(readout(params, batch, key), config.matmul_precision)

    def features(params: Params, batch: Batch) -> Float[Array, "B T D"]:
        check_tokens(batch.tokens, config.vocab_size)
        _, seen = module.apply({"params": params}, everywhere(batch), mutable="features")
        return seen["features"]["stream"][0].reshape(*batch.tokens.shape, -1)

    product = config.embedding_dim, config.matmul_precision
    layers = tuple(f"layers_{i}" for i in range(config.num_layers))
    return ModelFns(init, apply, None, readout, *product, features, layers)


class Transformer(nn.Module):
    """Token ids to the factors of the logits at the supervised positions.

    A subclass may have other layers between the embeddings and the head.

    Attributes:
        config: all switches.
        attention: makes a block's attention module from configuration and name.
    """

    config: TransformerConfig
    attention: Callable[..., Attention] = Attention

    @nn.compact
    def __call__(self, batch: Batch, deterministic: bool = True) -> Readout:
        """The readout; unless ``deterministic``, dropout draws from the stream "dropout"."""
        c = self.config
        table = self.param(
            "tok_emb", nn.initializers.normal(c.matrix_std), (c.vocab_size, c.embedding_dim)
        )
        x = self._embed(batch, table, deterministic)
        hidden = self._before_head(self._layers(x, batch, deterministic))
        return Head(c, name="head")(hidden.reshape(*batch.supervised.shape, -1), table)

    def _embed(
        self, batch: Batch, table: Float[Array, "V E"], deterministic: bool
    ) -> Float[Array, "rows D"]:
        c = self.config
        normal = nn.initializers.normal(c.matrix_std)
        x = table[batch.tokens.reshape(-1)]
        if c.embedding_dim != c.width:
            project = Dense(
                c, (c.embedding_dim,), (c.width,), False, c.matrix_std, name="project_in"
            )
            x = project(x).astype(table.dtype)
        if c.position == "learned":
            rows = self.param("pos_emb", normal, (c.position_offset + c.max_length, c.width))
            x = x + self._learned_positions(rows, batch)
        if c.num_token_types:
            x = x + self.param("type_emb", normal, (c.num_token_types, c.width))[:1]
        if c.embedding_norm:
            x = Norm(c, name="emb_ln")(x)
        return nn.Dropout(c.embedding_dropout)(x, deterministic)

    def _layers(
        self, x: Float[Array, "rows D"], batch: Batch, deterministic: bool
    ) -> Float[Array, "supervised D"]:
        """Map the embeddings of all tokens to the stream at the supervised positions."""
        c = self.config
        x = self._inner_blocks(x, batch, deterministic)
        last = scope(batch, c, supervised_only=True)
        block = Block(c, self.attention, name=f"layers_{c.num_layers - 1}")
        return block(x, last, batch.supervised, True, deterministic)

    def _inner_blocks(
        self, x: Float[Array, "rows D"], batch: Batch, deterministic: bool
    ) -> Float[Array, "rows D"]:
        """Apply all blocks but the last; in a loop, if the configuration says so."""
        c = self.config
        names = [f"layers_{i}" for i in range(c.num_layers - 1)]
        inner = scope(batch, c, supervised_only=False)
        # Only separate blocks create parameters and record intermediates under their own names.
        one_by_one = self.is_initializing() or self.is_mutable_collection("intermediates")
        if one_by_one or not names or not c.scan_layers:

            def applied(block: Block, x: Array) -> Array:
                return block(x, inner, batch.supervised, False, deterministic)

            again = c.remat_layers and not one_by_one
            for name in names:
                block = Block(c, self.attention, name=name)
                x = (nn.remat(applied) if again else applied)(block, x)
            return x
        # Without a parent the block registers no parameters here; it is applied to stacked ones.
        block = Block(c, self.attention, parent=None)
        layers = (self.variables["params"][name] for name in names)
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *layers)
        keys = None if deterministic else jax.random.split(self.make_rng("dropout"), len(names))

        def step(x: Array, layer: tuple[Params, Key | None]) -> tuple[Array, None]:
            params, key = layer
            rngs = None if key is None else {"dropout": key}
            args = (x, inner, batch.supervised, False, deterministic)
            return cast(Array, block.apply({"params": params}, *args, rngs=rngs)), None

        step_of = jax.checkpoint(step) if c.remat_layers else step
        return jax.lax.scan(step_of, x, (stacked, keys))[0]

    def _learned_positions(
        self, rows: Float[Array, "length D"], batch: Batch
    ) -> Float[Array, "rows D"]:
        num_windows, length = batch.tokens.shape
        if length > self.config.max_length:
            raise ValueError(f"windows of {length} tokens: max_length={self.config.max_length}")
        offset = self.config.position_offset
        if batch.positions is None:
            return jnp.tile(rows[offset : offset + length], (num_windows, 1))
        return rows[offset + batch.positions.reshape(-1)]

    def _before_head(self, x: Float[Array, "rows D"]) -> Float[Array, "rows E"]:
        c = self.config
        if c.final_norm:
            x = Norm(c, name="final_ln")(x)
        self.sow("features", "stream", x)
        if c.head_transform:
            x = Dense(c, (c.width,), (c.width,), True, c.matrix_std, name="head_dense")(x)
            x = Norm(c, name="head_ln")(ACTIVATIONS[c.activation](x))
        if c.embedding_dim != c.width:
            project = Dense(
                c, (c.width,), (c.embedding_dim,), False, c.matrix_std, name="project_out"
            )
            x = project(x)
        return x


class Block(nn.Module):
    """Attention and MLP, around the residual stream.

    Attributes:
        config: all switches.
        attention: makes the attention module from configuration and name.
    """

    config: TransformerConfig
    attention: Callable[..., Attention] = Attention

    @nn.compact
    def __call__(
        self,
        x: Float[Array, "rows D"],
        scope: Scope,
        supervised: Int[Array, "B P"],
        last: bool,
        deterministic: bool,
    ) -> Float[Array, "queries D"]:
        """The residual stream after the block.

        Args:
            x: the stream at all tokens.
            scope: rotations and mask of queries and keys.
            supervised: the supervised positions of each window.
            last: True for the last block, which returns the stream at those positions only.
            deterministic: True for no dropout.
        """
        c = self.config
        drop = nn.Dropout(c.residual_dropout, deterministic=deterministic)
        norm1, norm2 = Norm(c, name="ln1"), Norm(c, name="ln2")
        attention, mlp = self.attention(c, name="attn"), Mlp(c, name="mlp")
        watched = None if last else supervised

        inputs = norm1(x) if c.norm_placement == "pre" else x
        queries = take_rows(inputs, supervised) if last else inputs
        x = take_rows(x, supervised) if last else x
        attended = drop(attention(queries, inputs, scope, watched, deterministic))
        if c.norm_placement == "post":
            x = norm1(x + attended)
            return norm2(x + drop(mlp(x)))
        if c.parallel_residual:
            return x + attended + drop(mlp(norm2(x)))
        x = x + attended
        return x + drop(mlp(norm2(x)))


def take_rows(x: Float[Array, "rows D"], index: Int[Array, "B P"]) -> Float[Array, "picked D"]:
    """The rows of the tokens that ``index`` picks in each window, window by window."""
    num_windows = index.shape[0]
    first = jnp.arange(num_windows) * (x.shape[0] // num_windows)
    return x[(first[:, None] + index).reshape(-1)]


class Mlp(nn.Module):
    """``out(activation(in(x)))``, or with a gate ``out(activation(gate(x)) * in(x))``."""

    config: TransformerConfig

    @nn.compact
    def __call__(self, x: Float[Array, "rows D"]) -> Float[Array, "rows D"]:
        """The MLP's addition to the residual stream."""
        c = self.config
        activation = ACTIVATIONS[c.activation]

        def widen(name: str) -> Array:
            return Dense(c, (c.width,), (c.mlp_dim,), c.mlp_bias, c.matrix_std, name=name)(x)

        hidden = activation(widen("gate")) * widen("in") if c.gated_mlp else activation(widen("in"))
        return Dense(c, (c.mlp_dim,), (c.width,), c.mlp_bias, c.residual_std, name="out")(hidden)


class Head(nn.Module):
    """The output matrix that gives the logits: its own kernel, or the token table."""

    config: TransformerConfig

    @nn.compact
    def __call__(self, hidden: Float[Array, "B P E"], table: Float[Array, "V E"]) -> Readout:
        """Hidden states and matrix, in the number format of their product, and the bias."""
        c = self.config
        if c.tie_head:
            kernel = table.T
        else:
            kernel = self.param("kernel", nn.initializers.normal(c.matrix_std), table.shape[::-1])
        bias = None
        if c.head_bias:
            bias = self.param("bias", nn.initializers.zeros, (c.vocab_size,))
        return Readout(as_operand(hidden, c), as_operand(kernel, c), bias)
