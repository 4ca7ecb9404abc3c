"""Max-margin and equal-margin decoders on contexts with one next token, and descent on E-losses.

An E-loss drives all tokens and contexts to one margin m*. With at least as many dimensions as
contexts, the smallest such decoder is W = m* (Y - 1/V) H⁺, Y one-hot; with fewer it is least
squares, which is E3's minimiser. Two mechanisms decide the next token y:

==============  ==================================================================================
same margin     coordinates 3 e_y; others are 10 e_z, a shortcut z that is y nine times of ten
own margins     the largest of V linear functions of ten coordinates, three times the others' size
==============  ==================================================================================

All other coordinates are normal numbers, without which contexts of a kind could not be told apart.
Held-out contexts of the first mechanism are those where the shortcut is wrong.
"""

from collections.abc import Callable, Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from el_jax.linear_ntp import NTPProblem, max_margin
from el_jax.losses import TOKEN_LOSSES, equilibrium_margins, token_stats
from el_jax.process.double_precision import float64
from experiments.harness.seeds import Measured, run_seeds

NUM_CONTEXTS, NUM_HELD_OUT, VOCAB = 100, 10_000, 4
FEATURE, SHORTCUT, AGREEMENT, SIGNAL = 3.0, 10.0, 0.9, 10
RATIOS = (0.25, 0.5, 0.8, 1.1, 1.5, 2.0, 4.0, 16.0)  # dimensions over contexts
LOSSES = {"E1": ("e1", {"lam": 0.25}), "E2": ("e2", {"lam": 4.0}), "E3": ("e3", {"b": 1.0})}
TRAINED, NUM_STEPS = (0.5, 2.0), 60_000  # at these ratios, by gradient descent
NUM_SEEDS = {"smoke": 2, "pilot": 3, "cpu": 10}
FIRST = {"smoke": 100, "pilot": 100, "cpu": 0}  # data set of seed 0

Drawn = tuple[Float[np.ndarray, "d n"], Float[np.ndarray, "V n"]]  # embeddings, one-hot tokens


def same_margin(rng: np.random.Generator, dim: int) -> Callable[..., Drawn]:
    """Draw contexts where each token has its own coordinate, besides a larger shortcut."""

    def draw(num: int, agreement: float = 0.0) -> Drawn:
        tokens, off = rng.integers(0, VOCAB, num), rng.integers(1, VOCAB, num)
        shown = np.where(rng.random(num) < agreement, tokens, (tokens + off) % VOCAB)
        embeddings = rng.standard_normal((dim, num))
        embeddings[:VOCAB] = FEATURE * np.eye(VOCAB)[tokens].T
        embeddings[VOCAB : 2 * VOCAB] = SHORTCUT * np.eye(VOCAB)[shown].T
        return embeddings, np.eye(VOCAB)[tokens].T

    return draw


def own_margins(rng: np.random.Generator, dim: int) -> Callable[..., Drawn]:
    """Draw contexts whose token a linear teacher chooses, with margins of all sizes."""
    teacher = rng.standard_normal((VOCAB, SIGNAL))

    def draw(num: int, agreement: float = 0.0) -> Drawn:
        del agreement
        embeddings = rng.standard_normal((dim, num))
        embeddings[:SIGNAL] *= FEATURE
        return embeddings, np.eye(VOCAB)[(teacher @ embeddings[:SIGNAL]).argmax(0)].T

    return draw


MECHANISMS = {"same margin": same_margin, "own margins": own_margins}


def descend(loss: str, embeddings: Array, labels: Array) -> Float[Array, "V d"]:
    """W after gradient descent from 0 on the mean of a loss."""
    name, numbers = LOSSES[loss]

    def mean(W: Array) -> Array:
        return TOKEN_LOSSES[name](token_stats((W @ embeddings).T, labels), **numbers).mean()

    step = 0.25 / (jnp.linalg.norm(embeddings, 2) ** 2 / labels.size)
    start = jnp.zeros((VOCAB, embeddings.shape[0]))
    return jax.lax.fori_loop(0, NUM_STEPS, lambda _, W: W - step * jax.grad(mean)(W), start)


def trained(
    loss: str, embeddings: Float[np.ndarray, "d m"], tokens: Float[np.ndarray, "V m"]
) -> Float[np.ndarray, "V d"]:
    """Gradient descent's result, less the mean over tokens, which E3 sets, too."""
    with float64():
        found = jax.jit(partial(descend, loss))(jnp.asarray(embeddings), tokens.argmax(0))
    return np.asarray(found) - np.asarray(found).mean(0)


def resting_margin(loss: str) -> float:
    """m*, the only margin at which the loss is stationary."""
    name, numbers = LOSSES[loss]
    (margin,) = equilibrium_margins(partial(TOKEN_LOSSES[name], **numbers), VOCAB)
    return margin


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    """Cosine between two matrices."""
    return float(np.vdot(first, second) / np.linalg.norm(first) / np.linalg.norm(second))


def decoders(mechanism: str, ratio: float, seed: int) -> Iterator[Measured]:
    """Both decoders at a number of dimensions, and the result of gradient descent."""
    rng = np.random.default_rng([seed, round(100 * ratio), [*MECHANISMS].index(mechanism)])
    draw = MECHANISMS[mechanism](rng, round(ratio * NUM_CONTEXTS))
    embeddings, tokens = draw(NUM_CONTEXTS, AGREEMENT)
    problem = NTPProblem(embeddings, np.full(NUM_CONTEXTS, 1 / NUM_CONTEXTS), tokens)
    equal = (tokens - 1 / VOCAB) @ np.linalg.pinv(embeddings)
    found = {"max margin": max_margin(problem).w, "equal margins": equal}
    if ratio in TRAINED:
        found |= {loss: trained(loss, embeddings, tokens) for loss in LOSSES}
    held_out, answers = draw(NUM_HELD_OUT)
    for name, W in found.items():
        numbers = {"held_out": ((W @ held_out).argmax(0) == answers.argmax(0)).mean()}
        numbers["cosine"] = cosine(W, found["max margin"])
        if name in LOSSES:
            wanted = resting_margin(name) * equal
            numbers["distance"] = np.linalg.norm(W - wanted) / np.linalg.norm(wanted)
        yield Measured({"mechanism": mechanism, "ratio": ratio, "decoder": name}, numbers)


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """A part for each mechanism and number of dimensions."""
    for mechanism in MECHANISMS:
        for ratio in RATIOS:
            yield from decoders(mechanism, ratio, FIRST[scale] + seed)


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)
