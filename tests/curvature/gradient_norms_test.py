import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.curvature.gradient_norms import gradient_norms
from el_jax.models import PRESETS, TransformerConfig, transformer
from el_jax.types import Batch

KEY = jax.random.key(0)
SIZES = {"vocab_size": 11, "width": 16, "num_layers": 2, "num_heads": 2, "max_length": 5}


def by_gradients(function, params, cotangent):
    """The squared norms one by one, from the gradient itself."""
    pulled = jax.vjp(function, params)[1](cotangent)[0]
    return np.array([jnp.square(leaf).sum() for leaf in jax.tree.leaves(pulled)])


def arrays_in(program):
    """Shapes of all that a traced program makes, in its loops, too."""
    for eqn in program.eqns:
        yield from (variable.aval.shape for variable in eqn.outvars)
        for inner in jax.tree.leaves(
            list(eqn.params.values()), is_leaf=lambda x: hasattr(x, "eqns")
        ):
            inner = getattr(inner, "jaxpr", inner)
            if hasattr(inner, "eqns"):
                yield from arrays_in(inner)


def language_model(preset, **changes):
    """Log-probabilities of one window, and its parameters, in float64."""
    config: TransformerConfig = dataclasses.replace(PRESETS[preset], **SIZES, **changes)
    model = transformer(config)
    tokens = jnp.array([[3, 1, 4, 1, 5]])
    asked = jnp.array([[1, 3]])
    batch = Batch(tokens, asked, asked, asked > 0, asked)
    params = jax.tree.map(lambda x: x.astype(jnp.float64), model.init(KEY))
    return lambda p: jax.nn.log_softmax(model.apply(p, batch)), params


@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("gpt2", {}),
        ("budget_bert", {}),
        ("llama", {"num_kv_heads": 1}),
        ("gpt_neox", {"scan_layers": True}),
        ("gpt_neox", {"remat_layers": True}),
    ],
)
def test_norms_are_those_of_the_gradients(preset, changes):
    with jax.enable_x64(True):
        function, params = language_model(preset, **changes)
        value, norms = jax.jit(
            lambda p: (lambda v, f: (v, jax.vmap(f)(COTANGENTS(v))))(*gradient_norms(function, p))
        )(params)
        np.testing.assert_allclose(value, function(params), rtol=1e-6)
        for cotangent, found in zip(COTANGENTS(value), norms, strict=True):
            expected = by_gradients(function, params, cotangent)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)


def COTANGENTS(value):
    return jax.random.normal(KEY, (3, *value.shape), value.dtype)
