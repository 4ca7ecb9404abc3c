"""Embed a small transformer in a large one: more parameters, different ones, the same function.

Liu, Xie, Li, Ma 2023 (arXiv 2210.14199), appendix B.4. The large network is k times as wide, and
its residual stream holds k copies of the small one's, one after the other::

    matrix             the k x k blocks W / k             so that sums over copies stay sums
    bias, norm         k copies                           the norm of copies is copies of the norm
    token table, head  k copies of s E                    a norm removes s, or s = 1
    last norm          k copies of γ / (s k), β / (s k)   the head sums k copies of s
    head's bias        as it is
    heads              head j is head j mod H             scores and rotations are the same
    more neurons       0
    more layers        0, on top                          blocks before the norm add 0

If a parameter p becomes n copies of s p, each copy gets the gradient of p over n s, so that its
trace of the Fisher matrix is multiplied by 1 / (n s²): exactly, at any parameters. The trace of the
Hessian does the same only where the model's distribution is that of the labels.
:func:`replication` gives n, s and the factor of every leaf, to compare with measured traces.

The paper's released code has s = 1/k, which multiplies the trace of a tied table by k; with
s = 1/√k only the traces of biases and inner norms change.
"""

import dataclasses
import functools
import math
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from flax.traverse_util import flatten_dict, unflatten_dict
from jax import Array
from jaxtyping import Float

from el_jax.models.config import TransformerConfig
from el_jax.models.transformer import transformer
from el_jax.process.errors import require
from el_jax.types import Params

Group = Literal[
    "embeddings",
    "matrices",
    "biases_norms",
    "last_norm",
    "head",
    "head_bias",
    "added_biases",
    "added",
]

_SIZES = {
    "width",
    "num_layers",
    "num_heads",
    "num_kv_heads",
    "head_size",
    "mlp_width",
    "mlp_ratio",
    "embedding_width",
}
# Settings that do not affect parameters once they are drawn.
_OF_TRAINING = {
    "init",
    "init_std",
    "embedding_dropout",
    "attention_dropout",
    "residual_dropout",
    "dtype",
    "matmul_precision",
    "attention_impl",
    "scan_layers",
    "remat_layers",
}
_TABLES = ("tok_emb", "pos_emb", "type_emb")
# Largest ε / s². A norm removes a scale s from entries of variance v up to a share ε / (2 s² v) of
# them, which is 1e-6 for a table of the usual standard deviation .02.
_NEGLIGIBLE_EPSILON = 1e-9


class Replica(NamedTuple):
    """One leaf of the large network.

    Attributes:
        group: ``embeddings``, with the head where it is tied; ``matrices``; ``biases_norms``, gains
            of norms included; ``last_norm``, the one before the head; ``head``, if it has its own
            kernel; ``head_bias``; and in added layers ``added_biases``, which end their branches,
            and ``added``, the other leaves.
        source: the leaf of the small network whose trace ``fisher_factor`` multiplies. It has the
            same name, except for ``added_biases``: they are 0 and get the same gradient of the
            stream as the last bias of the small network. None for ``added``, which get no gradient.
        copies: n.
        scale: s of each copy.
    """

    group: Group
    source: str | None
    copies: int
    scale: float

    @property
    def fisher_factor(self) -> float:
        """Trace of the Fisher matrix of this leaf over that of its source; 0 without a source."""
        return 1 / (self.copies * self.scale**2) if self.source else 0.0


_ADDED = Replica("added", None, 0, 0.0)


def enlarge(
    small: TransformerConfig, params: Params, large: TransformerConfig, scale: float = 1.0
) -> Params:
    """Parameters of the large network with which it computes the function of the small one.

    The outputs agree to rounding. Pure, and may be vmapped over parameters.

    Args:
        small: the network of ``params``.
        params: its parameters.
        large: the network to be filled. It may differ from ``small`` only in sizes and training
            settings: its width is k times that of ``small`` for an integer k, with k times as many
            heads of the same size; its MLP is at least k times as wide; it may have more layers.
        scale: s of the head, and of the embeddings if a norm follows them (otherwise theirs is 1).

    Raises:
        ValueError: names the setting for which no rule exists, or the leaf that does not belong to
            ``small``.
    """
    plan = replication(small, large, scale)
    given, expected, shapes = flatten_dict(params, sep="/"), _shapes(small), _shapes(large)
    for name in {**expected, **given}:
        found = given[name].shape if name in given else "missing"
        require(f"params[{name!r}]", found, found == expected.get(name), f"{expected.get(name)}")
    k, dtype = large.width // small.width, given["tok_emb"].dtype
    filled = {
        name: replica.scale * _tiled(given[name], shapes[name], k)
        if name in given
        else jnp.zeros(shapes[name], dtype)
        for name, replica in plan.items()
    }
    return unflatten_dict(filled, sep="/")


def replication(
    small: TransformerConfig, large: TransformerConfig, scale: float = 1.0
) -> dict[str, Replica]:
    """Source, copies and scale of each leaf of the large network, by name.

    Names look like ``layers_0/mlp/in/kernel``. All leaves of a group have the same Fisher factor.
    Arguments and errors are those of :func:`enlarge`.
    """
    _check(small, large, scale)
    sources, k = _shapes(small), large.width // small.width

    def replica(name: str, shape: tuple[int, ...]) -> Replica:
        if name not in sources:
            ends_branch = name.endswith(("attn/o/bias", "mlp/out/bias"))
            last = f"layers_{small.num_layers - 1}/mlp/out/bias"
            return Replica("added_biases", last, k, 1.0) if ends_branch else _ADDED
        group = _group_of(name, small)
        head_scale = {"head": scale, "last_norm": 1 / (scale * k), "matrices": 1 / k}
        tables = scale if small.embedding_norm else 1.0
        factor = {**head_scale, "embeddings": tables}.get(group, 1.0)
        return Replica(group, name, math.prod(_repeats(sources[name], shape, k)), factor)

    return {name: replica(name, shape) for name, shape in _shapes(large).items()}


def _group_of(name: str, config: TransformerConfig) -> Group:
    if name in _TABLES:
        return "embeddings"
    if name.startswith("head/"):
        return "head" if name == "head/kernel" else "head_bias"
    if name.rpartition("/")[0] == _last_norm(config):
        return "last_norm"
    return "matrices" if name.endswith("kernel") else "biases_norms"


def _last_norm(config: TransformerConfig) -> str | None:
    """The name of the norm whose output the head reads; None if there is none."""
    if config.head_transform:
        return "head_ln"
    if config.final_norm:
        return "final_ln"
    return f"layers_{config.num_layers - 1}/ln2" if config.norm_placement == "post" else None


@functools.cache
def _shapes(config: TransformerConfig) -> dict[str, tuple[int, ...]]:
    params = jax.eval_shape(transformer(config).init, jax.random.key(0))
    return {name: leaf.shape for name, leaf in flatten_dict(params, sep="/").items()}


def _repeats(small: tuple[int, ...], large: tuple[int, ...], k: int) -> list[int]:
    """Copies along each axis: k along those that grow, that is width, heads and neurons."""
    return [k if n > m else 1 for m, n in zip(small, large, strict=True)]


def _tiled(leaf: Float[Array, "*m"], shape: tuple[int, ...], k: int) -> Float[Array, "*n"]:
    """Copies of a leaf, one after the other, and zeros for the neurons after the last copy."""
    copies = jnp.tile(leaf, _repeats(leaf.shape, shape, k))
    return jnp.pad(copies, [(0, n - m) for m, n in zip(copies.shape, shape, strict=True)])


def _check(small: TransformerConfig, large: TransformerConfig, scale: float) -> None:
    for field in dataclasses.fields(TransformerConfig):
        if field.name not in _SIZES | _OF_TRAINING:
            ours, theirs = getattr(small, field.name), getattr(large, field.name)
            require(field.name, theirs, theirs == ours, f"{ours!r}, as in the small network")
    require("qk_norm", small.qk_norm, not small.qk_norm, "False: its scales have no rule here")
    _check_sizes(small, large)
    _check_depth(small, large)
    _check_scale(small, scale)


def _check_sizes(small: TransformerConfig, large: TransformerConfig) -> None:
    for config in (small, large):
        narrow = config.embedding_dim != config.width
        require("embedding_width", config.embedding_dim, not narrow, f"the width, {config.width}")
    require("width", large.width, large.width % small.width == 0, f"a multiple of {small.width}")
    k = large.width // small.width
    for name, ours, theirs in (
        ("num_heads", small.num_heads, large.num_heads),
        ("num_kv_heads", small.kv_heads, large.kv_heads),
    ):
        require(name, theirs, theirs == k * ours, f"{k} times {ours}, as the width is")
    require("head_size", large.head_dim, large.head_dim == small.head_dim, f"{small.head_dim}")
    neurons = k * small.mlp_dim
    require("mlp_width", large.mlp_dim, large.mlp_dim >= neurons, f"at least {k} x {small.mlp_dim}")


def _check_depth(small: TransformerConfig, large: TransformerConfig) -> None:
    ours, theirs = small.num_layers, large.num_layers
    require("num_layers", theirs, theirs >= ours, f"at least {ours}")
    if theirs == ours:
        return
    placement, biases = small.norm_placement, (small.attention_out_bias, small.mlp_bias)
    require(
        "norm_placement", placement, placement == "pre", "'pre', for a layer to be the identity"
    )
    # their gradient equals that of no leaf of the small network
    only_attention = biases == (True, False)
    require("mlp_bias", small.mlp_bias, not only_attention, "True, as attention_out_bias is")


def _check_scale(small: TransformerConfig, scale: float) -> None:
    require("scale", scale, 0 < scale < math.inf, "a positive number")
    last = _last_norm(small)
    require("final_norm", small.final_norm, last is not None, "True, for a norm to scale the head")
    if scale == 1:
        return
    normed, epsilon = small.embedding_norm, small.norm_epsilon
    free = normed or not small.tie_head
    require("scale", scale, free, "1 where a tied table has no embedding_norm to remove it")
    limit = _NEGLIGIBLE_EPSILON * scale**2
    negligible = not normed or epsilon <= limit
    require(
        "norm_epsilon", epsilon, negligible, f"at most {limit:.1g}, to remove scale={scale:.3g}"
    )
