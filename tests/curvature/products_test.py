import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax.extend.core import Primitive
from jax.flatten_util import ravel_pytree

from el_jax.curvature import GaussNewton, Hessian
from el_jax.losses.fused import fused_stats_and_moments
from tests.curvature.small_losses import (
    classifier_params,
    contexts,
    cross_entropy,
    flat_of,
    logits,
    observed,
    quadratic,
    symmetric_matrix,
    tree_of,
)

SEEDS = st.integers(0, 2**16)


def direction(params, seed):
    flat, unravel = ravel_pytree(params)
    return unravel(jnp.asarray(np.random.default_rng(seed).normal(size=flat.size), flat.dtype))


def finite_difference_hessian(loss, params, step=1e-4):
    """Differences of four loss values for each entry: no derivative of JAX is trusted."""
    flat, unravel = ravel_pytree(params)
    steps = step * np.eye(flat.size)
    at = jax.jit(lambda x: loss(unravel(x)))
    return np.array(
        [
            [
                at(flat + a + b) - at(flat + a - b) - at(flat - a + b) + at(flat - a - b)
                for b in steps
            ]
            for a in steps
        ]
    ) / (4 * step**2)


def test_products_of_a_quadratic_are_those_of_its_matrix():
    with jax.enable_x64(True):
        matrix, v = symmetric_matrix(), np.random.default_rng(5).normal(size=19)
        at, loss = tree_of(np.random.default_rng(6).normal(size=19)), quadratic(matrix)
        found = flat_of(Hessian(loss, at).matvec(tree_of(v)))
        np.testing.assert_allclose(found, matrix @ v, atol=1e-12)
        form = Hessian(loss, at).quadratic_form(tree_of(v))
        assert form.dtype == jnp.float64
        np.testing.assert_allclose(form, v @ matrix @ v, atol=1e-12)


def test_dense_hessian_is_that_of_finite_differences():
    with jax.enable_x64(True):
        params, loss = classifier_params(), cross_entropy(contexts(), observed())
        found = Hessian(loss, params).dense()
        np.testing.assert_allclose(found, finite_difference_hessian(loss, params), atol=1e-6)
        np.testing.assert_allclose(found, found.T, atol=1e-14)
        v = np.random.default_rng(1).normal(size=len(found))
        form = Hessian(loss, params).quadratic_form(ravel_pytree(params)[1](jnp.asarray(v)))
        np.testing.assert_allclose(form, v @ found @ v, rtol=1e-10)


@settings(max_examples=6)
@given(seed=SEEDS)
def test_ggn_is_the_fisher_matrix_of_softmax_written_out(seed):
    with jax.enable_x64(True):
        params, inputs = classifier_params(seed), contexts()
        flat, unravel = ravel_pytree(params)
        fisher = np.zeros((flat.size, flat.size))
        for x in inputs:
            log_probs = lambda w, x=x: jax.nn.log_softmax(logits(unravel(w), x))  # noqa: E731
            for p, score in zip(np.exp(log_probs(flat)), jax.jacrev(log_probs)(flat), strict=True):
                fisher += p * np.outer(score, score) / len(inputs)

        def loss_of_outputs(z):
            return -jnp.take_along_axis(jax.nn.log_softmax(z), observed()[:, None], 1).mean()

        v = direction(params, seed + 1)
        model = lambda p: jax.vmap(lambda x: logits(p, x))(inputs)  # noqa: E731
        found = GaussNewton(model, loss_of_outputs, params).matvec(v)
        np.testing.assert_allclose(
            ravel_pytree(found)[0], fisher @ ravel_pytree(v)[0], rtol=1e-10, atol=1e-12
        )


def test_ggn_of_a_linear_model_is_its_hessian():
    with jax.enable_x64(True):
        params = {"out": classifier_params()["out"]}
        model, v = lambda p: contexts() @ p["out"], direction(params, 3)
        loss = lambda z: jnp.square(z).sum() + jnp.exp(z).mean()  # noqa: E731
        found = GaussNewton(model, loss, params).matvec(v)["out"]
        exact = Hessian(lambda p: loss(model(p)), params).matvec(v)["out"]
        np.testing.assert_allclose(found, exact, rtol=1e-12)


def test_a_compiled_form_is_that_of_single_operations_and_of_float64():
    sizes = {"hidden": (33, 40), "bias": (40,), "out": (40, 17)}  # large enough for XLA's faults
    rng = np.random.default_rng(0)
    params = {k: jnp.asarray(rng.normal(size=s) / 6, jnp.float32) for k, s in sizes.items()}
    inputs, labels = jnp.asarray(rng.normal(size=(5, 33)), jnp.float32), jnp.arange(5)
    v = jax.tree.map(jnp.ones_like, params)

    def form(params, inputs, v):
        return Hessian(cross_entropy(inputs, labels), params).quadratic_form(v)

    compiled = jax.jit(form)(params, inputs, v)
    np.testing.assert_allclose(compiled, form(params, inputs, v), rtol=1e-4)
    with jax.enable_x64(True):
        wide = jax.tree.map(lambda x: x.astype(jnp.float64), (params, inputs, v))
        np.testing.assert_allclose(compiled, form(*wide), rtol=1e-4)


def test_a_block_is_the_diagonal_block_of_the_hessian():
    with jax.enable_x64(True):
        matrix, at = symmetric_matrix(), tree_of(np.arange(19.0))
        found = Hessian(quadratic(matrix), at).restrict(lambda name: name.startswith("layer/"))
        assert list(found.params) == ["layer/bias", "layer/kernel"]
        order = [*range(12, 15), *range(12)]  # the bias comes first in order of names
        np.testing.assert_allclose(found.dense(), matrix[np.ix_(order, order)], atol=1e-12)
        np.testing.assert_allclose(found.value(), quadratic(matrix)(at), rtol=1e-12)


PARAMS = {"w": jnp.ones((2, 2)), "b": jnp.ones(2)}
REFUSED = {
    "after\\['b'\\] is missing: after must have the leaves b, w": {"w": jnp.ones((2, 2))},
    "after\\['c'\\] is not in params": PARAMS | {"c": jnp.ones(1)},
    "after\\['w'\\] is float32\\[4\\]: must be float32\\[2,2\\], like params": PARAMS
    | {"w": jnp.ones(4)},
    "after\\['b'\\] is int32\\[2\\]: must be float32\\[2\\]": PARAMS | {"b": jnp.ones(2, int)},
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_direction_unlike_the_parameters_is_refused(message):
    def loss(params):
        return jnp.sum(params["w"] @ params["b"])

    with pytest.raises(ValueError, match=message):
        Hessian(loss, PARAMS).difference_to(REFUSED[message])
    for product in (Hessian.matvec, Hessian.quadratic_form):
        with pytest.raises((TypeError, ValueError), match="jvp"):
            product(Hessian(loss, PARAMS), REFUSED[message])
    with pytest.raises((TypeError, ValueError), match="jvp"):
        GaussNewton(lambda p: p["w"], jnp.sum, PARAMS).matvec(REFUSED[message])


def test_what_is_no_loss_or_no_parameter_is_refused():
    with pytest.raises(TypeError, match=r"only defined for scalar-output functions"):
        Hessian(lambda p: p["b"], PARAMS).matvec(PARAMS)
    with pytest.raises(ValueError, match=r"^loss.shape=\(2,\): must be that of one number"):
        Hessian(lambda p: p["b"], PARAMS).quadratic_form(PARAMS)
    with pytest.raises(TypeError, match=r"only defined for scalar-output functions"):
        GaussNewton(lambda p: p["w"], lambda z: z, PARAMS).matvec(PARAMS)
    with pytest.raises(ValueError, match=r"params\['step'\] is int32\[\]: must be real"):
        Hessian(lambda p: p["w"] * 1.0, {"step": jnp.int32(3), "w": jnp.ones(())}).dense()
    with pytest.raises(ValueError, match=r"after='PyTreeDef.*: must be nested like params, PyTree"):
        Hessian(lambda p: p[0].sum(), [jnp.ones(2)]).difference_to((jnp.ones(2),))
    with pytest.raises(ValueError, match=r"params=\{\}: must be a pytree with at least one array"):
        Hessian(lambda p: 1.0, {}).dense()


def test_a_group_without_parameters_is_refused():
    def norms(name):
        return "norm" in name

    with pytest.raises(ValueError, match=r"leaves that belong=\[\]: must be some of b, w"):
        Hessian(lambda p: 0.0, PARAMS).restrict(norms)


def blockwise(params):
    """A loss over blocks of classes, with a derivative rule of its own."""
    hidden, labels = jnp.ones((2, 2)), jnp.zeros(2, int)
    stats, _ = fused_stats_and_moments(hidden, params["w"], labels, path="chunked")
    return stats.label_logit.sum()


def without_a_rule(params):
    """A loss with an operation for which JAX has no rule, like cuDNN's attention."""
    operation = Primitive("attention_of_a_card")
    operation.def_abstract_eval(lambda x: x)
    return operation.bind(params["w"]).sum()


@pytest.mark.parametrize(
    ("loss", "cause"),
    [(blockwise, "jvp.*custom_vjp function"), (without_a_rule, "'attention_of_a_card' not impl")],
)
def test_a_function_without_derivatives_forwards_is_refused(loss, cause):
    for product in (
        lambda loss, at, v: Hessian(loss, at).matvec(v),
        lambda loss, at, v: Hessian(loss, at).quadratic_form(v),
        lambda loss, at, v: GaussNewton(loss, jnp.square, at).matvec(v),
        lambda loss, at, _: Hessian(loss, at).dense(),
        lambda loss, at, _: Hessian(loss, at).trace(jax.random.key(0), 2),
    ):
        with pytest.raises((NotImplementedError, TypeError), match=cause):
            product(loss, PARAMS, PARAMS)
