"""Muon updates the matrices of layers, attention's as a whole; AdamW updates everything else."""

import jax
import numpy as np
import optax
import pytest

from configs.el.copy import get_config
from el_jax import build
from el_jax.training.optimizers.muon import muon

RATE = 0.01
NUMBERS = {"momentum": 0.95, "b1": 0.9, "b2": 0.95, "epsilon": 1e-8, "weight_decay": 0.0}


def shapes(heads, head_size, width):
    return {
        "tok_emb": (29, width),
        "head": (width, 29),
        "layers_0": {
            "attn": {
                "q": {"kernel": (width, heads, head_size), "bias": (heads, head_size)},
                "o": {"kernel": (heads, head_size, width), "bias": (width,)},
            },
            "mlp": {"in": {"kernel": (width, 4 * width), "bias": (4 * width,)}},
            "ln1": {"scale": (width,)},
        },
    }


def drawn(seed, tree):
    leaves, structure = jax.tree.flatten(tree, is_leaf=lambda leaf: isinstance(leaf, tuple))
    keys = jax.random.split(jax.random.key(seed), len(leaves))
    return jax.tree.unflatten(
        structure, [jax.random.normal(k, shape) for k, shape in zip(keys, leaves, strict=True)]
    )


def updates_of(optimizer, params, gradients):
    @jax.jit
    def run(params, gradients):
        state = optimizer.init(params)
        for gradient in gradients:
            updates, state = optimizer.update(gradient, state, params)
        return updates

    return run(params, gradients)


@pytest.fixture(scope="module")
def found():
    tree = shapes(heads=2, head_size=8, width=16)
    params, gradients = drawn(0, tree), [drawn(1, tree), drawn(2, tree)]
    return params, gradients, updates_of(muon(lambda _: RATE, **NUMBERS), params, gradients)


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        (("attn", "q"), 16),  # [D, heads, size]: rows are inputs
        (("attn", "o"), 16),  # [heads, size, D]
        (("mlp", "in"), 16),
    ],
)
def test_the_update_of_a_matrix_is_its_momentum_made_orthogonal(found, path, rows):
    _, gradients, updates = found
    one, two = (
        np.asarray(g["layers_0"][path[0]][path[1]]["kernel"], np.float64).reshape(rows, -1)
        for g in gradients
    )
    # Nesterov's step on the bias-corrected mean of two gradients, as optax has it
    beta = NUMBERS["momentum"]
    mean = beta * (1 - beta) * one + (1 - beta) * two
    step = beta * mean / (1 - beta**3) + (1 - beta) * two / (1 - beta**2)
    left, _, right = np.linalg.svd(step, full_matrices=False)
    expected = -RATE * 0.2 * np.sqrt(max(step.shape)) * left @ right
    update = np.asarray(updates["layers_0"][path[0]][path[1]]["kernel"]).reshape(rows, -1)
    # five steps of Newton and Schulz bring singular values to about .7 to 1.2
    cosine = (update * expected).sum() / np.linalg.norm(update) / np.linalg.norm(expected)
    assert cosine > 0.97
    singular = np.linalg.svd(update, compute_uv=False) / (RATE * 0.2 * np.sqrt(max(step.shape)))
    assert 0.5 < singular.min() < singular.max() < 1.4


def test_all_else_is_adams(found):
    params, gradients, updates = found
    adam = optax.adamw(RATE, 0.9, 0.95, 1e-8, weight_decay=0.0, nesterov=True)
    expected = updates_of(adam, params, gradients)
    flat, _ = jax.tree_util.tree_flatten_with_path(updates)
    of_adam = {jax.tree_util.keystr(path): leaf for path, leaf in flat}
    for path, leaf in jax.tree_util.tree_flatten_with_path(expected)[0]:
        name = jax.tree_util.keystr(path)
        same = np.allclose(leaf, of_adam[name], rtol=1e-5)
        assert same == ("kernel" not in name), name


@pytest.mark.parametrize("model", ["gpt_neox", "lstm"])
def test_every_matrix_of_a_models_layers_is_muons(model):
    settings = build.parse(get_config(f"smoke,model={model}"))
    params = jax.eval_shape(build.model_of(settings).init, jax.random.key(0))
    state = jax.eval_shape(muon(lambda _: RATE, **NUMBERS).init, params)
    masked = state[0].inner_states["muon"].inner_state[0].mu
    kinds = {
        jax.tree_util.keystr(path, simple=True, separator="/")
        for path, leaf in jax.tree_util.tree_leaves_with_path(masked)
        if hasattr(leaf, "shape")
    }
    every = jax.tree_util.tree_leaves_with_path(params)
    names = {jax.tree_util.keystr(path, simple=True, separator="/") for path, _ in every}
    assert kinds == {n for n in names if n.startswith("layers") and n.endswith("kernel")}
