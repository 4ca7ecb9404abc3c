"""Losses for tests of curvature: a quadratic with a known Hessian, and a tiny classifier."""

import jax
import jax.numpy as jnp
import numpy as np

SIZES = ((4, 3), (3,), (2, 2))  # shapes of the leaves of a quadratic, P = 19
NUM_CONTEXTS, NUM_INPUTS, NUM_CLASSES, WIDTH = 8, 3, 4, 3


def tree_of(flat):
    """A pytree with the three shapes of ``SIZES``, nested."""
    first, second, third = np.split(np.asarray(flat), [12, 15])
    leaves = [jnp.asarray(x.reshape(s)) for x, s in zip((first, second, third), SIZES, strict=True)]
    return {"layer": {"kernel": leaves[0], "bias": leaves[1]}, "head": leaves[2]}


def flat_of(tree):
    """The inverse of ``tree_of``."""
    leaves = tree["layer"]["kernel"], tree["layer"]["bias"], tree["head"]
    return jnp.concatenate([leaf.ravel() for leaf in leaves])


def symmetric_matrix(seed=0, size=19, eigenvalues=None):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(size, size)))[0]
    values = rng.normal(size=size) if eigenvalues is None else np.asarray(eigenvalues)
    return (basis * values) @ basis.T


def quadratic(matrix, dtype=None):
    """θ ↦ ½ θᵀ A θ + sum θ, for a tree made by ``tree_of``."""
    matrix = jnp.asarray(matrix, dtype)

    def loss(params):
        flat = flat_of(params)
        return 0.5 * flat @ matrix @ flat + flat.sum()

    return loss


def classifier_params(seed=0, scale=1.0, dtype=None):
    rng = np.random.default_rng(seed)
    shapes = {"hidden": (NUM_INPUTS, WIDTH), "bias": (WIDTH,), "out": (WIDTH, NUM_CLASSES)}
    return {k: jnp.asarray(scale * rng.normal(size=s), dtype) for k, s in shapes.items()}


def contexts(seed=1, num=NUM_CONTEXTS, dtype=None):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(num, NUM_INPUTS)), dtype)


def observed(seed=2, num=NUM_CONTEXTS):
    return jnp.asarray(np.random.default_rng(seed).integers(0, NUM_CLASSES, num))


def logits(params, context):
    """Logits of one context, ``[V]``."""
    return jnp.tanh(context @ params["hidden"] + params["bias"]) @ params["out"]


def example_loss(params, example):
    """Cross entropy of one context and its label."""
    context, label = example
    return -jax.nn.log_softmax(logits(params, context))[label]


def cross_entropy(contexts, labels):
    """The mean over contexts, as a function of the parameters."""

    def loss(params):
        return jax.vmap(lambda x, y: example_loss(params, (x, y)))(contexts, labels).mean()

    return loss
