"""The spectrum of the Hessian of a model's mean cross-entropy."""

from collections.abc import Callable
from typing import NamedTuple

import jax
from jax import Array
from jaxtyping import Float

from el_jax.curvature import SpectralDensity, spectral_density, top_eigenvalues
from el_jax.probes.contexts import context_logits
from el_jax.types import Batch, Key, ModelFns, Params


class Spectrum(NamedTuple):
    """Both ends of a spectrum, and its density.

    Attributes:
        largest: eigenvalues, the largest first.
        smallest: the least eigenvalue, ``[1]``.
        residuals: ‖H v - λ v‖ of the largest ones and the least; each is so near an eigenvalue.
        density: of all.
    """

    largest: Float[Array, " num"]
    smallest: Float[Array, " 1"]
    residuals: tuple[Float[Array, " num"], Float[Array, " 1"]]
    density: SpectralDensity


def mean_cross_entropy(
    model: ModelFns, windows: Batch, chunk: int = 256
) -> Callable[[Params], Float[Array, ""]]:
    """The mean cross-entropy, in nats, over contexts of ``contexts_of`` as a function of params.

    Args:
        model: the model.
        windows: the contexts.
        chunk: contexts at once.
    """
    logits = context_logits(model)

    @jax.checkpoint
    def of_context(params: Params, window: Batch) -> Array:
        return -jax.nn.log_softmax(logits(params, window))[window.labels[0]]

    def loss(params: Params) -> Array:
        return jax.lax.map(lambda w: of_context(params, w), windows, batch_size=chunk).mean()

    return loss


def spectrum(
    loss: Callable[[Params], Array],
    params: Params,
    key: Key,
    *,
    num: int = 5,
    num_steps: int = 40,
    num_probes: int = 4,
) -> Spectrum:
    """The ``num`` largest eigenvalues, the least, and the density of ``num_probes`` probes.

    Args:
        loss: of the parameters.
        params: θ.
        key: of starting vectors and probes.
        num: eigenvalues.
        num_steps: products H v for each end and for each probe; memory is as many gradients.
        num_probes: probes of the density.
    """
    keys = jax.random.split(key, 3)
    top = top_eigenvalues(loss, params, keys[0], num, num_steps=num_steps)
    bottom = top_eigenvalues(loss, params, keys[1], 1, num_steps=num_steps, end="smallest")
    density = spectral_density(loss, params, keys[2], num_probes=num_probes, num_steps=num_steps)
    return Spectrum(top.values, bottom.values, (top.residuals, bottom.residuals), density)
