"""A linear model with a large shortcut and a small feature, trained to each loss's margin.

y is ±1; the shortcut z is y with probability .9, else -y; x = (B z, y, noise). Only the small
feature y is always right. Accuracy on unseen examples is a normal distribution function of the
weights, so no test set is drawn.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import scipy.stats
from jax import Array
from jaxtyping import Float

from el_jax.losses import TOKEN_LOSSES, token_stats
from experiments.harness.seeds import Measured, run_seeds

LOSSES: tuple[dict[str, Any], ...] = (
    {"loss": "cross_entropy"},
    {"loss": "e1", "lam": 0.5},  # with two classes marg-log, log(1 + exp(-m)) + λ log(1 + m²)
    {"loss": "e2", "lam": 0.4},  # with two classes spectral decoupling, ... + (λ/4) m²
    {"loss": "e3", "b": 1.0},
)
SIZES = (2, 5, 10, 20, 50)  # of the shortcut, B


class Setting(NamedTuple):
    """The numbers of a scale.

    Attributes:
        num_seeds: training sets, each with its own initial weights.
        num_examples: n.
        dim: d, number of inputs including shortcut and feature.
        num_steps: full-batch steps of Adam, a multiple of ``MARKS``.
    """

    num_seeds: int
    num_examples: int
    dim: int
    num_steps: int


SCALES = {"smoke": Setting(2, 60, 20, 200), "cpu": Setting(10, 1000, 300, 10_000)}
NUM_SEEDS = {name: size.num_seeds for name, size in SCALES.items()}
AGREEMENT = 0.9  # probability that the shortcut is right in training
RATE, FIRST_STD = 0.01, 0.01  # Adam's learning rate; spread of the initial weights
MARKS = 20  # points at which the course is measured


def signed_inputs(key: Array, num: int, dim: int) -> Float[Array, "n d"]:
    """Inputs times y at B = 1; the product with the weights is an example's margin."""
    agree_key, noise_key = jax.random.split(key)
    agrees = jax.random.bernoulli(agree_key, AGREEMENT, (num, 1))
    noise = jax.random.normal(noise_key, (num, dim - 2))
    return jnp.concatenate([2.0 * agrees - 1, jnp.ones((num, 1)), noise], axis=1)


def sizes_of(dim: int) -> Float[Array, "d B"]:
    """The factor of each input for each B; the shortcut's is B."""
    return jnp.ones((dim, len(SIZES))).at[0].set(jnp.array(SIZES, jnp.float32))


def total_loss(margins: Float[Array, "n loss B"]) -> Float[Array, ""]:
    """The summed mean losses of all models; no model reads the weights of another."""
    logits = jnp.stack([margins / 2, -margins / 2], axis=-1)  # of the right class and the wrong one
    labels = jnp.zeros(logits[:, 0, :, 0].shape, jnp.int32)
    losses = []
    for i, factors in enumerate(LOSSES):
        numbers = {key: value for key, value in factors.items() if key != "loss"}
        loss = TOKEN_LOSSES[factors["loss"]]
        losses.append(loss(token_stats(logits[:, i], labels), **numbers).mean(0))
    return jnp.stack(losses).sum()


def margins_of(
    weights: Float[Array, "d loss B"], inputs: Float[Array, "n d"]
) -> Float[Array, "n loss B"]:
    """The margin y f(x) of every example under every model."""
    scaled = weights * sizes_of(len(weights))[:, None]
    return jnp.tensordot(inputs, scaled, 1)


@partial(jax.jit, static_argnums=2)
def train(
    key: Array, inputs: Float[Array, "n d"], num_steps: int
) -> Float[Array, "marks d loss B"]:
    """The weights of all models at every mark."""
    adam = optax.adam(RATE)
    shape = inputs.shape[1], len(LOSSES), len(SIZES)
    weights = FIRST_STD * jax.random.normal(key, shape)

    def step(state: tuple, _: None) -> tuple[tuple, None]:
        weights, moments = state
        slopes = jax.grad(lambda w: total_loss(margins_of(w, inputs)))(weights)
        updates, moments = adam.update(slopes, moments)
        return (optax.apply_updates(weights, updates), moments), None

    def mark(state: tuple, _: None) -> tuple[tuple, Array]:
        state, _ = jax.lax.scan(step, state, None, num_steps // MARKS)
        return state, state[0]

    return jax.lax.scan(mark, (weights, adam.init(weights)), None, MARKS)[1]


def unseen_accuracy(
    weights: Float[np.ndarray, "*marks d loss B"],
) -> Float[np.ndarray, "*marks loss B"]:
    """The lower of the accuracies where the shortcut is right and where it is wrong."""
    shortcut = weights[..., 0, :, :] * np.array(SIZES)
    feature = weights[..., 1, :, :]
    noise = np.linalg.norm(weights[..., 2:, :, :], axis=-3)
    return scipy.stats.norm.cdf((feature - np.abs(shortcut)) / noise)


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """All models of one training set."""
    data_key, first_key = jax.random.split(jax.random.key(seed))
    chosen = SCALES[scale]
    inputs = signed_inputs(data_key, chosen.num_examples, chosen.dim)
    courses = np.asarray(train(first_key, inputs, chosen.num_steps), np.float64)
    steps = np.arange(1, MARKS + 1) * (chosen.num_steps // MARKS)
    accuracy = unseen_accuracy(courses)
    ratio = np.abs(courses[:, 0] * np.array(SIZES) / courses[:, 1])
    margins = np.asarray(margins_of(jnp.asarray(courses[-1], jnp.float32), inputs))
    for i, loss in enumerate(LOSSES):
        for j, size in enumerate(SIZES):
            own = margins[:, i, j]
            numbers = {
                "worst_group_accuracy": accuracy[-1, i, j],
                "shortcut_ratio": ratio[-1, i, j],
                "train_accuracy": (own > 0).mean(),
                "margin_spread": own.std() / own.mean(),
            }
            seen = {"worst_group_accuracy": accuracy[:, i, j], "shortcut_ratio": ratio[:, i, j]}
            yield Measured({**loss, "shortcut_size": size}, numbers, steps, seen)


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)
