"""Look inside a transformer: read the outputs of its blocks, or replace them.

    trace = look(model, params, batch)
    trace.residual  # [layers + 1, B, T, D]: the embeddings, then the stream after each block
    other = look(model, params, batch, patch={(1, "residual", 7): trace.residual[1, ::-1, 7]})

The forward code is the model's own: flax's ``intercept_methods`` reads and replaces the outputs of
its blocks. Everything may be jitted, vmapped over parameters and differentiated, also with respect
to a patch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from el_jax.models.functions import check_tokens, everywhere, logits_of
from el_jax.types import Batch, ModelFns, Params

Positions: TypeAlias = int | np.integer | Sequence[int] | None
Patch: TypeAlias = Mapping[tuple[int, str, Positions], Any]
PARTS = ("residual", "attention", "mlp")


class Trace(NamedTuple):
    """The activations of a transformer with N blocks at all T tokens of B windows.

    Attributes:
        logits: the logits at every token, ``[B, T, V]``.
        residual: the residual stream: embeddings, then after each block, ``[N + 1, B, T, D]``.
        attention: attention's addition to the stream in each block, ``[N, B, T, D]``.
        mlp: the MLP's addition to it, ``[N, B, T, D]``.
        weights: attention weights of every query over all keys, ``[N, B, H, T, T]``.
    """

    logits: Float[Array, "B T V"]
    residual: Float[Array, "layers B T D"]
    attention: Float[Array, "N B T D"]
    mlp: Float[Array, "N B T D"]
    weights: Float[Array, "N B H T T"]

    def __repr__(self) -> str:
        shapes = (f"{name} {list(value.shape)}" for name, value in self._asdict().items())
        return f"Trace({', '.join(shapes)})"  # at a prompt, not thousands of lines of numbers


def look(model: ModelFns, params: Params, batch: Batch, patch: Patch | None = None) -> Trace:
    """Trace a transformer, optionally with some values replaced.

    Args:
        model: a transformer.
        params: parameters of one run.
        batch: windows of tokens; their supervised positions do not matter.
        patch: maps ``(layer, part, positions)`` to values that replace those of the trace at
            ``[layer, :, positions]``: ``[B, D]`` at one position, ``[B, n, D]`` at several,
            ``[B, T, D]`` at all (None). Later values are computed from them. The part is
            "residual", "attention" or "mlp".

    Raises:
        ValueError: the model is no transformer, there is no such layer, part or position, or values
            have another shape.
    """
    if model.look is None:
        raise ValueError("look: needs a transformer, whose model has blocks to look into")
    return model.look(params, batch, patch or {})


def logit_lens(model: ModelFns, params: Params, batch: Batch) -> Float[Array, "layers B T V"]:
    """The logits that the head reads from the residual stream at each depth, ``[N + 1, B, T, V]``.

    nostalgebraist 2020: the head reads every layer's stream in place of the last one's.
    """
    residual = look(model, params, batch).residual
    last = len(residual) - 1

    def read(stream: Float[Array, "B T D"]) -> Float[Array, "B T V"]:
        return look(model, params, batch, {(last, "residual", None): stream}).logits

    return jax.lax.map(read, residual)


def looks_into(module: nn.Module) -> Callable[[Params, Batch, Patch], Trace]:
    """The ``look`` of a transformer's ``ModelFns``."""
    config = module.config

    def traced(params: Params, batch: Batch, patch: Patch) -> Trace:
        check_tokens(batch.tokens, config.vocab_size)
        _check(patch, config.num_layers, (*batch.tokens.shape, config.width))
        seen: dict[tuple[int, str], Array] = {}

        def replaced(layer: int, part: str, rows: Array) -> Array:
            """Put the patch's rows into the rows of all tokens, and remember the result."""
            value = rows.reshape(*batch.tokens.shape, -1)
            for (at, name, positions), new in patch.items():
                if (at, name) == (layer, part):
                    places = slice(None) if positions is None else jnp.asarray(positions)
                    value = value.at[:, places].set(jnp.asarray(new, value.dtype))
            seen[layer, part] = value
            return value.reshape(rows.shape)

        def intercepted(call: Any, args: Any, kwargs: Any, context: Any) -> Any:
            layer = _layer_of(context.module.path)
            if layer is None or context.method_name != "__call__":
                return call(*args, **kwargs)
            part = _part_of(context.module.path)
            if part != "residual":
                out = call(*args, **kwargs)
                return out if part is None else replaced(layer, part, out)
            if layer == 0:
                args = (replaced(0, "residual", args[0]), *args[1:])
            return replaced(layer + 1, "residual", call(*args, **kwargs))

        with nn.intercept_methods(intercepted):
            readout, sown = module.apply(
                {"params": params}, everywhere(batch), mutable="intermediates"
            )
        layers = range(config.num_layers)
        weights = [sown["intermediates"][f"layers_{i}"]["attn"]["weights"][0] for i in layers]
        return Trace(
            logits_of(readout, config.matmul_precision),
            jnp.stack([seen[i, "residual"] for i in range(config.num_layers + 1)]),
            jnp.stack([seen[i, "attention"] for i in layers]),
            jnp.stack([seen[i, "mlp"] for i in layers]),
            jnp.stack(weights),
        )

    return traced


def _layer_of(path: tuple[str, ...]) -> int | None:
    if path and path[0].startswith("layers_"):
        return int(path[0].removeprefix("layers_"))
    return None


def _part_of(path: tuple[str, ...]) -> str | None:
    """The part that a module inside a layer returns; None for a piece of a part."""
    names = {(): "residual", ("attn",): "attention", ("mlp",): "mlp"}
    return names.get(path[1:])


def _check(patch: Patch, num_layers: int, shape: tuple[int, int, int]) -> None:
    windows, length, width = shape
    for key, new in patch.items():
        layer, part, positions = key
        if part not in PARTS:
            raise ValueError(f"patch {key}: the part must be one of {', '.join(PARTS)}")
        last = num_layers if part == "residual" else num_layers - 1
        if not 0 <= layer <= last:
            raise ValueError(f"patch {key}: the layer of {part} must be in 0 .. {last}")
        for position in _each(positions):
            if not 0 <= position < length:
                raise ValueError(f"patch {key}: the position must be in 0 .. {length - 1}")
        tokens = (length,) if positions is None else np.shape(positions)
        if np.shape(new) != (windows, *tokens, width):  # another might be broadcast
            allowed = (windows, *tokens, width)
            raise ValueError(f"patch {key}: its values have shape {np.shape(new)}, not {allowed}")


def _each(positions: Positions) -> Iterator[int]:
    if positions is not None:
        yield from np.ravel(positions).tolist()
