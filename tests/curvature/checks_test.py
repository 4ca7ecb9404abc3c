import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.curvature import GaussNewton, Hessian, OperatorError, check_operator
from tests.curvature.small_losses import (
    classifier_params,
    contexts,
    cross_entropy,
    logits,
    observed,
    quadratic,
    symmetric_matrix,
    tree_of,
)

KEY = jax.random.key(0)


def loss(params):
    return cross_entropy(contexts(), observed())(params)


def hessian(params, v):
    return Hessian(loss, params).matvec(v)


def in_pieces(weigh):
    """The weighted sum of two mean Hessians, over pieces of 5 and 3 contexts."""

    def matvec(params, v):
        parts = [
            Hessian(cross_entropy(contexts()[piece], observed()[piece]), params).matvec(v)
            for piece in (slice(0, 5), slice(5, 8))
        ]
        return jax.tree.map(lambda a, b: weigh[0] * a + weigh[1] * b, *parts)

    return matvec


def test_ours_obey_every_law():
    with jax.enable_x64(True):
        params = classifier_params()
        errors = check_operator(
            hessian,
            params,
            KEY,
            dense=Hessian(loss, params).dense(),
            split_matvec=in_pieces((5 / 8, 3 / 8)),
        )
        assert list(errors) == ["linear", "symmetric", "dense", "split", "parameters"]
        assert max(error for law, error in errors.items() if law != "parameters") < 1e-13

        def gauss_newton(params, v):
            model = lambda p: jax.vmap(lambda x: logits(p, x))(contexts())  # noqa: E731
            return GaussNewton(model, lambda z: jax.nn.logsumexp(z, 1).mean(), params).matvec(v)

        check_operator(gauss_newton, params, KEY)
    check_operator(hessian, classifier_params(), KEY)  # float32


def tree_times(factor, tree):
    return jax.tree.map(lambda x: factor * x, tree)


BROKEN = {  # law -> an operator that breaks it, of the kinds found in public code
    "linear": lambda p, v: Hessian(loss, v).matvec(v),  # at the direction instead of the parameters
    "symmetric": lambda p, v: hessian(p, {**v, "bias": v["bias"][::-1]}),
    "dense": lambda p, v: tree_times(8, hessian(p, v)),  # summed over batches, not divided
    "split": hessian,
    "parameters": lambda p, v: Hessian(loss, classifier_params()).matvec(v),
}


@pytest.mark.parametrize("law", BROKEN)
def test_a_broken_law_is_named_with_its_error(law):
    with jax.enable_x64(True):
        params = classifier_params()
        dense, split = Hessian(loss, params).dense(), in_pieces((1 / 2, 1 / 2))
        with pytest.raises(
            OperatorError, match=rf"{law}: relative (error|change) [\d.e-]+"
        ) as info:
            check_operator(
                BROKEN[law],
                params,
                KEY,
                dense=dense if law == "dense" else None,
                split_matvec=split if law == "split" else None,
            )
        if law in ("dense", "split", "parameters"):
            others = set(BROKEN) - {law}
            assert not any(f"{other}:" in str(info.value) for other in others)
        if law == "dense":
            assert "dense: relative error 7, must be at most 2.2e-13" in str(info.value)


def test_a_constant_matrix_is_said_to_be_one():
    with jax.enable_x64(True):
        at, matrix = tree_of(np.ones(19)), symmetric_matrix()

        def matvec(params, v):
            return Hessian(quadratic(matrix), params).matvec(v)

        errors = check_operator(matvec, at, KEY, constant=True)
        assert list(errors) == ["linear", "symmetric"]
        with pytest.raises(OperatorError, match=re.escape("(or constant=True)")):
            check_operator(matvec, at, KEY)


def test_the_tolerance_is_the_callers():
    with jax.enable_x64(True):
        noisy = lambda p, v: jax.tree.map(lambda x, y: x + 1e-6 * y**2, hessian(p, v), v)  # noqa: E731
        check_operator(noisy, classifier_params(), KEY, tolerance=1e-3)
        with pytest.raises(OperatorError, match="linear"):
            check_operator(noisy, classifier_params(), KEY)


def test_nan_breaks_laws_and_another_tree_is_refused():
    with pytest.raises(OperatorError, match="linear: relative error nan"):
        check_operator(lambda p, v: tree_times(jnp.nan, v), classifier_params(), KEY)
    with pytest.raises(ValueError, match=r"matvec\(params, v\)\['bias'\] is missing"):
        check_operator(lambda p, v: {"out": v["out"]}, classifier_params(), KEY)
