"""Weights of an update's windows or of a task's groups, by their losses.

A weighting of windows is one function, ``weigh(losses, *, <numbers>) -> weights``, of the mean loss
of every window (nats), and one line of ``WEIGHTINGS``. Its weights are positive, and only their
ratios matter: they are normalised to mean 1 over an update's tokens.

A weighting of groups remembers one number a group, 0 at first: ``weigh(losses, present, memory, *,
<numbers>) -> (weights, memory)``, and one line of ``GROUP_WEIGHTINGS``. ``present`` is False for
groups without tokens in the update. The loss is the weighted sum of the groups' mean losses.

No gradient passes through weights.
"""

from collections import ChainMap
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float

from el_jax.weighting.group_dro import group_dro
from el_jax.weighting.loss_based import extremes, lin_upper, quadratic

WEIGHTINGS: dict[str, Callable[..., Array]] = {
    "lin_upper": lin_upper,
    "quadratic": quadratic,
    "extremes": extremes,
}
GROUP_WEIGHTINGS: dict[str, Callable[..., tuple[Array, Array]]] = {"group_dro": group_dro}
ALL_WEIGHTINGS = ChainMap[str, Callable[..., Any]](WEIGHTINGS, GROUP_WEIGHTINGS)


def weighted_mean(
    losses: Float[Array, "B P"],
    mask: Bool[Array, "B P"],
    weigh: Callable[[Float[Array, "B"]], Float[Array, "B"]],
) -> Float[Array, ""]:
    """Mean of the losses under the mask, each with the weight of its window.

    Args:
        losses: losses of tokens, in nats.
        mask: True for supervised tokens; the mean is 0 if there are none.
        weigh: the weighting, numbers bound. Windows without supervised tokens are ignored.
    """
    counts = mask.sum(1)
    means = jnp.where(mask, losses, 0).sum(1) / jnp.maximum(counts, 1)
    # an empty window stands for one that is there, so that it changes no extreme of any weighting
    of_windows = weigh(jnp.where(counts > 0, means, means[counts.argmax()]))
    weights = jnp.where(mask, jax.lax.stop_gradient(of_windows)[:, None], 0)
    total = weights.sum()
    return jnp.where(mask, weights * losses, 0).sum() / jnp.where(total > 0, total, 1)
