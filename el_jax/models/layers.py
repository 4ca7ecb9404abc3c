"""The row-wise layers: each maps ``[rows, in]`` to ``[rows, out]``.

Rows are the tokens of all windows, flattened, so that each layer is one two-dimensional product,
the fastest operation of matrix libraries.
"""

import math
from collections.abc import Callable, Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Float

from el_jax.models.config import TransformerConfig


def gelu(x: Array) -> Array:
    """Exact GELU, ``x Phi(x)`` (Hendrycks & Gimpel 2016, arXiv 1606.08415), by erf.

    ``jax.nn.gelu`` uses erfc, which is exact further into the left tail but slower on CPU; this is
    torch's form.
    """
    return x * (0.5 + 0.5 * lax.erf(x * math.sqrt(0.5)))


def gelu_tanh(x: Array) -> Array:
    """GELU by its tanh approximation (Hendrycks & Gimpel 2016, section 2)."""
    return jax.nn.gelu(x, approximate=True)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
}


class Norm(nn.Module):
    """LayerNorm (Ba et al. 2016) or RMSNorm (Zhang & Sennrich 2019), in float32."""

    config: TransformerConfig

    @nn.compact
    def __call__(self, x: Float[Array, "rows D"]) -> Float[Array, "rows D"]:
        """Normalises each row over D, then scales it and, for LayerNorm, shifts it."""
        scale = self.param("scale", nn.initializers.ones, x.shape[-1:])
        x = x.astype(jnp.promote_types(x.dtype, jnp.float32))
        if self.config.norm == "layernorm":
            x = x - x.mean(-1, keepdims=True)
        variance = jnp.square(x).mean(-1, keepdims=True)
        x = x * lax.rsqrt(variance + self.config.norm_epsilon) * scale[None]
        if self.config.norm == "layernorm":
            x = x + self.param("bias", nn.initializers.zeros, x.shape[-1:])[None]
        return x


class Dense(nn.Module):
    """``x @ kernel + bias``; a kernel with more than two axes is used as the matrix it flattens to.

    Attributes:
        config: sets the number formats of the product.
        inputs: sizes that the kernel contracts; their product is the width of a row.
        outputs: sizes that it maps to.
        use_bias: True to add a bias of shape ``outputs``.
        std: standard deviation of the kernel at initialisation.
    """

    config: TransformerConfig
    inputs: Sequence[int]
    outputs: Sequence[int]
    use_bias: bool
    std: float

    @nn.compact
    def __call__(self, x: Float[Array, "rows in"]) -> Float[Array, "rows out"]:
        """The affine map of each row, in ``config.dtype``."""
        shape = (*self.inputs, *self.outputs)
        kernel = self.param("kernel", nn.initializers.normal(self.std), shape)
        x = matmul(x, kernel.reshape(x.shape[-1], -1), self.config)
        if self.use_bias:
            bias = self.param("bias", nn.initializers.zeros, tuple(self.outputs))
            x = x + bias.reshape(1, -1).astype(x.dtype)
        return x


def matmul(
    x: Float[Array, "rows in"], kernel: Float[Array, "in out"], config: TransformerConfig
) -> Float[Array, "rows out"]:
    """``x @ kernel`` in the number format and precision of the configuration."""
    x, kernel = as_operand(x, config), as_operand(kernel, config)
    return jnp.matmul(x, kernel, precision=config.matmul_precision)


def as_operand(x: Float[Array, "*shape"], config: TransformerConfig) -> Float[Array, "*shape"]:
    """Rounds an operand of a product to bfloat16 where the configuration says so."""
    return x.astype(jnp.bfloat16) if config.dtype == "bfloat16" else x
