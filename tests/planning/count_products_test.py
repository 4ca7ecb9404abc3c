"""Products of a trace are counted as often as they are computed."""

import jax
import jax.numpy as jnp
import pytest

from el_jax import build
from el_jax.planning.products import count_products
from el_jax.planning.programs import products_of_update, shapes_of
from el_jax.process.target import Target, compiling_for
from el_jax.tasks import TASKS
from tests.planning.random_tokens import RandomTokens, gpt2_config
from tests.training.small_training import small_config

A, B = jax.ShapeDtypeStruct((3, 4), jnp.float32), jax.ShapeDtypeStruct((4, 5), jnp.float32)


def test_a_product_its_gradients_and_its_loops():
    assert count_products(jnp.matmul, A, B) == ({"float32": 120.0}, 4 * (12 + 20 + 15))
    gradients = jax.grad(lambda a, b: (a @ b).sum(), argnums=(0, 1))
    # two products with the ones of the sum's gradient; the forward product is unused but traced
    assert count_products(gradients, A, B).total == 3 * 120
    looped = count_products(
        lambda a, b: jax.lax.scan(lambda c, _: (c, a @ b), 0, None, length=7), A, B
    )
    assert looped.total == 7 * 120
    batched = count_products(jax.vmap(jnp.matmul), *(_stacked(array, 6) for array in (A, B)))
    assert batched.total == 6 * 120


def test_kinds_of_arithmetic_are_apart():
    def both(a, b):
        exact = jnp.matmul(a, b, precision="highest")
        return exact, a.astype(jnp.bfloat16) @ b.astype(jnp.bfloat16)

    found = count_products(both, A, B)
    assert found.operations == {"float32_highest": 120.0, "bfloat16": 120.0}


def _stacked(array, num):
    return jax.ShapeDtypeStruct((num, *array.shape), array.dtype)


@pytest.mark.parametrize("run_axis", ["vmap", "map"])
def test_an_update_of_several_runs_has_the_products_of_each(run_axis):
    with compiling_for(Target("cpu", 1)):
        one, three = (
            products_of_update(
                shapes_of(build.make_spec(build.parse(small_config(seeds=n, run_axis=run_axis))))
            )
            for n in (1, 3)
        )
    assert one.total > 0
    assert three.total == 3 * one.total


@pytest.mark.parametrize(("path", "again"), [("plain", 0), ("auto", 1)])
def test_an_update_of_gpt2_has_the_operations_of_the_published_formula(path, again, monkeypatch):
    """The gradient computes the logits of all tokens again if they are not kept."""
    monkeypatch.setitem(TASKS, "random_tokens", RandomTokens)  # other tests list the known ones
    config = gpt2_config(windows=2)
    config.loss.path = path
    with compiling_for(Target("cpu", 1)):
        settings = build.parse(config)
        shapes = shapes_of(build.make_spec(settings))
        products = products_of_update(shapes)
    model, tokens = settings.model_config, shapes.batch.tokens.size
    assert (model.vocab_size, tokens) == (50_257, 2048)
    in_products = shapes.num_params - model.max_length * model.width
    # 6 n + 12 N H K T a token: Chowdhery et al. 2022 (arXiv 2204.02311), appendix B
    attention = 12 * model.num_layers * model.num_heads * model.head_dim * model.max_length
    expected = tokens * (6 * in_products + attention)
    expected += again * 2 * tokens * model.width * model.vocab_size
    assert products.total == pytest.approx(expected, rel=0.01)
    # scores and logits are float32, but no factor of their products is; sums of a few losses are
    assert "float32" not in products.operations
    assert products.operations["bfloat16"] > 0.999 * products.total
