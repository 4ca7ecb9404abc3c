"""The local learning coefficient: how fast volume shrinks as the loss approaches that of a network.

If the volume of parameters near θ with a loss within ε of L(θ) goes as ε^λ, λ is the learning
coefficient (Watanabe 2009): half the number of parameters at a regular minimum, less at a
degenerate one. Of two networks with equal loss, the one with the smaller λ fills more of parameter
space. Unlike a trace λ does not depend on the units of the parameters; its estimate does, by the
localisation.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
from jax import Array
from jaxtyping import Float

from el_jax.curvature.arguments import check_count, check_finite, check_params
from el_jax.curvature.sampling import mean_and_sem, normals, numbered_keys
from el_jax.process.errors import require
from el_jax.types import Key, Params

SampledLoss = Callable[[Params, Key], Array]


class LearningCoefficient(NamedTuple):
    """An estimate of λ.

    Attributes:
        mean: the estimate, without unit.
        sem: its standard error over chains.
        values: nβ times the excess loss at each draw, ``[chains, draws]``; if it has a trend, the
            chains have not settled.
    """

    mean: Float[Array, ""]
    sem: Float[Array, ""]
    values: Float[Array, "chains draws"]


def local_learning_coefficient(
    loss: SampledLoss,
    params: Params,
    key: Key,
    *,
    n_beta: float,
    step_size: float,
    localisation: float,
    num_chains: int = 4,
    num_burn_in: int = 200,
    num_draws: int = 200,
) -> LearningCoefficient:
    """λ = nβ (E L(w) - L(θ)), w from exp(-nβ L(w) - γ ‖w - θ‖² / 2) by Langevin steps from θ.

    The estimator of Lau et al. 2023 (arXiv 2308.12108), with steps w ← w - ε/2 (nβ ∇L(w) + γ (w -
    θ)) + √ε noise (SGLD). The same minibatch gives L(w) and L(θ), so its noise mostly cancels. For
    a loss ½ Σ h_i w_i² it tends to ½ Σ nβ h_i / a_i with a_i = nβ h_i + γ, as ε → 0: directions
    with h_i far below γ/nβ do not count. A finite ε multiplies each term by 1 / (1 - ε a_i / 4). It
    may be negative where θ is no minimum.

    Args:
        loss: ``loss(params, key)``, the mean loss of a minibatch drawn with the key, in nats.
        params: θ.
        key: key of minibatches and noise.
        n_beta: nβ, the inverse temperature; n / log n for n examples in theory.
        step_size: ε; a chain diverges above 4 / (nβ h + γ) for the largest eigenvalue h.
        localisation: γ, which holds the chain near θ; it forgets its start in 2 / (ε γ) steps.
        num_chains: independent chains, at least 2.
        num_burn_in: first steps of a chain, which do not count.
        num_draws: later steps.

    Raises:
        ValueError: if a number is out of range, or the result is not finite.
    """
    for name, value in (("n_beta", n_beta), ("step_size", step_size)):
        require(name, value, value > 0, "positive")
    require("localisation", localisation, localisation >= 0, "at least 0")
    check_count("num_chains", num_chains, least=2)
    check_count("num_burn_in", num_burn_in, least=0)
    check_count("num_draws", num_draws)
    check_params(params)

    def move(w: Params, key: Key) -> tuple[Params, Array]:
        batch_key, noise_key = jax.random.split(key)
        here, slope = jax.value_and_grad(loss)(w, batch_key)
        force = jax.tree.map(lambda g, x, p: n_beta * g + localisation * (x - p), slope, w, params)
        after = jax.tree.map(
            lambda x, f, z: x - step_size / 2 * f + step_size**0.5 * z,
            *(w, force, normals(noise_key, params)),
        )
        return after, n_beta * (here - loss(params, batch_key))

    def chain(key: Key) -> Float[Array, " draws"]:
        _, excess = jax.lax.scan(move, params, jax.random.split(key, num_burn_in + num_draws))
        return excess[num_burn_in:]

    values = jax.lax.map(chain, numbered_keys(key, num_chains))
    mean, sem = mean_and_sem(values.mean(1))
    check_finite("local_learning_coefficient", mean, "loss(params)", lambda: loss(params, key))
    return LearningCoefficient(mean, sem, values)
