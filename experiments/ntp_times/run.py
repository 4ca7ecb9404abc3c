"""Times at which a linear decoder learns contexts of unequal frequency, by loss and optimizer.

Contexts follow Zipf's law, π_j ~ 1 / j, and each has one next token, its own or a shared one.
Embeddings are one-hot, so that W is a table with a column for each context, or random directions.
Steps are small, so that all times are those of the flow. A context is learnt when its margin, the
right token's logit less the largest other one, first reaches half a nat; times to a quarter of a
nat and to one nat show how much depends on this choice.
"""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jaxtyping import Float, Int

from el_jax.linear_ntp.theory.directions import polar_factor
from el_jax.losses import TOKEN_LOSSES, token_stats
from el_jax.process.double_precision import float64
from experiments.harness.seeds import Measured, run_seeds

LEVELS = (0.5, 0.25, 1.0)  # nats; curves use the first
NUM_CONTEXTS = 32
DIM = 48  # of random embeddings
VOCAB = 16  # shared tokens
LOSSES: dict[str, dict[str, float]] = {"cross_entropy": {}, "e1": {"lam": 0.5}, "e2": {"lam": 4.0}}


class Optimizer(NamedTuple):
    """An optimizer with small steps.

    Attributes:
        transform: the transformation of a gradient.
        step_size: its learning rate.
        num_steps: steps until the rarest context is learnt and its margin is stationary.
    """

    transform: Callable[[], optax.GradientTransformation]
    step_size: float
    num_steps: int


def by_matrix(change: Callable[[Array], Array]) -> optax.GradientTransformation:
    """A transformation of the gradient without memory."""
    return optax.stateless(lambda gradient, _: change(gradient))


OPTIMIZERS = {
    "gradient descent": Optimizer(optax.identity, 0.05, 100_000),
    "sign descent": Optimizer(lambda: by_matrix(jnp.sign), 2e-4, 20_000),
    "Adam": Optimizer(partial(optax.scale_by_adam, b2=0.999, eps=1e-12), 2e-4, 20_000),
    "spectral descent": Optimizer(lambda: by_matrix(polar_factor), 2e-3, 10_000),
}
NUM_SEEDS = {"smoke": 2, "cpu": 20}
FIRST = {"smoke": 100, "cpu": 0}


def margins_of(
    W: Float[Array, "V d"], embeddings: Float[Array, "d m"], labels: Int[Array, " m"]
) -> Float[Array, " m"]:
    """Margin of each context, nats."""
    stats = token_stats((W @ embeddings).T, labels)
    return stats.label_logit - stats.max_other


@partial(jax.jit, static_argnames=("vocab_size", "loss", "optimizer"))
def times(
    embeddings: Float[Array, "d m"],
    labels: Int[Array, " m"],
    frequency: Float[Array, " m"],
    vocab_size: int,
    loss: str,
    optimizer: str,
) -> tuple[Float[Array, "levels m"], Float[Array, " m"]]:
    """The step at which each context reaches each level, infinite if never; its final margin."""
    chosen = OPTIMIZERS[optimizer]
    descent = optax.chain(chosen.transform(), optax.scale(-chosen.step_size))

    def mean(W: Array) -> Array:
        stats = token_stats((W @ embeddings).T, labels)
        return frequency @ TOKEN_LOSSES[loss](stats, **LOSSES[loss])

    def step(number: Array, state: tuple[Array, Any, Array]) -> tuple[Array, Any, Array]:
        W, memory, found = state
        change, memory = descent.update(jax.grad(mean)(W), memory)
        W = W + change
        learnt = margins_of(W, embeddings, labels) >= jnp.array(LEVELS)[:, None]
        return W, memory, jnp.where(learnt, jnp.minimum(found, number + 1.0), found)

    W = jnp.zeros((vocab_size, embeddings.shape[0]))
    start = W, descent.init(W), jnp.full((len(LEVELS), labels.size), jnp.inf)
    W, _, found = jax.lax.fori_loop(0, chosen.num_steps, step, start)
    return found, margins_of(W, embeddings, labels)


def exponent(found: Float[np.ndarray, " m"], frequency: Float[np.ndarray, " m"]) -> float:
    """The b of time ~ π^-b, by least squares on logarithms."""
    return float(-np.polyfit(np.log(frequency), np.log(found), 1)[0])


class Data(NamedTuple):
    """Distribution of contexts and tokens.

    Attributes:
        one_hot: embeddings are unit vectors, [m, m], so that W is a table; else random directions.
        own: each context has its own token.
        losses: the losses to train.
    """

    one_hot: bool
    own: bool
    losses: tuple[str, ...] = ("cross_entropy",)


DATA = {
    "own tokens, one-hot": Data(one_hot=True, own=True, losses=(*LOSSES,)),
    "own tokens, random": Data(one_hot=False, own=True),
    "shared tokens, one-hot": Data(one_hot=True, own=False),
    "shared tokens, random": Data(one_hot=False, own=False, losses=(*LOSSES,)),
}


ENDS = [name for name, data in DATA.items() if data.losses == (*LOSSES,)]
RANKS = np.array([1, 2, 3, 4, 6, 8, 11, 16, 22, 32])  # ranks in curves


def drawn(data: Data, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
    """Embeddings ``[d, m]``, tokens ``[m]`` and the size of the vocabulary."""
    embeddings = np.eye(NUM_CONTEXTS)
    if not data.one_hot:
        embeddings = rng.standard_normal((DIM, NUM_CONTEXTS))
        embeddings /= np.linalg.norm(embeddings, axis=0)
    if data.own:
        return embeddings, np.arange(NUM_CONTEXTS), NUM_CONTEXTS
    return embeddings, rng.integers(VOCAB, size=NUM_CONTEXTS), VOCAB


def of_problem(data: str, loss: str, optimizer: str, seed: int) -> Iterator[Measured]:
    """One loss under one optimizer on a problem."""
    embeddings, labels, vocab_size = drawn(DATA[data], np.random.default_rng(seed))
    frequency = 1 / np.arange(1, NUM_CONTEXTS + 1)
    frequency /= frequency.sum()
    with float64():
        of_levels, margins = map(
            np.asarray,
            times(jnp.asarray(embeddings), labels, frequency, vocab_size, loss, optimizer),
        )
    found, lower, higher = of_levels
    numbers = {
        "exponent": exponent(found, frequency),
        "exponent_at_a_quarter": exponent(lower, frequency),
        "exponent_at_one": exponent(higher, frequency),
        "slowest_over_fastest": found.max() / found.min(),
        "learnt": np.isfinite(found).mean(),
        "margin_spread": margins.std() / margins.mean(),
    }
    factors = {"data": data, "loss": loss, "optimizer": optimizer}
    if data not in ENDS:
        yield Measured(factors, numbers)
        return
    curves = {"time": found / np.median(found), "margin": margins}
    yield Measured(factors, numbers, RANKS, {name: c[RANKS - 1] for name, c in curves.items()})


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """A part for each kind of data, loss and optimizer; tables of own tokens exist once."""
    for name, data in DATA.items():
        for loss, optimizer in itertools.product(data.losses, OPTIMIZERS):
            if seed == 0 or not (data.one_hot and data.own):
                yield from of_problem(name, loss, optimizer, FIRST[scale] + seed)


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)
