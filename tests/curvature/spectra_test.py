import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from el_jax.curvature import Hessian, smoothed
from tests.curvature.small_losses import (
    classifier_params,
    contexts,
    cross_entropy,
    observed,
    quadratic,
    symmetric_matrix,
    tree_of,
)

KEY = jax.random.key(0)
AT = np.random.default_rng(3).normal(size=19)
VALUES = np.array([-3.0, -1.0, *np.linspace(-0.1, 0.1, 12), 0.5, 1.0, 2.0, 4.0, 8.0])


@pytest.fixture
def loss():
    return quadratic(symmetric_matrix(eigenvalues=VALUES))


def test_all_eigenvalues_of_a_matrix_come_at_full_length():
    with jax.enable_x64(True):
        matrix = symmetric_matrix()
        found = Hessian(quadratic(matrix), tree_of(AT)).eigenvalues(KEY, 19)
        exact = np.linalg.eigvalsh(matrix)
        np.testing.assert_allclose(found.values, exact[::-1], atol=1e-10)
        assert found.residuals.max() < 1e-10


def test_blocks_have_the_spectra_of_the_diagonal_blocks():
    with jax.enable_x64(True):
        matrix, params = symmetric_matrix(), tree_of(AT)
        groups = {"head": np.r_[15:19], "layer": np.r_[0:15]}
        whole = Hessian(quadratic(matrix), params)
        for group, at in groups.items():
            exact = np.linalg.eigvalsh(matrix[np.ix_(at, at)])
            block = whole.restrict(lambda name, group=group: name.startswith(group))
            top = block.eigenvalues(KEY, len(at))
            np.testing.assert_allclose(top.values, exact[::-1], atol=1e-10)


def test_both_ends_with_vectors_and_true_residuals():
    with jax.enable_x64(True):
        params, loss = classifier_params(), cross_entropy(contexts(), observed())
        exact = np.linalg.eigvalsh(Hessian(loss, params).dense())
        for end, expected in (("largest", exact[::-1]), ("smallest", exact)):
            found = Hessian(loss, params).eigenvalues(KEY, 3, num_steps=9, end=end)
            for number in range(3):
                value = found.values[number]
                vector = jax.tree.map(lambda x, i=number: x[i], found.vectors)
                flat = ravel_pytree(vector)[0]
                np.testing.assert_allclose(jnp.linalg.norm(flat), 1, rtol=1e-12)
                missed = ravel_pytree(Hessian(loss, params).matvec(vector))[0] - value * flat
                residual = found.residuals[number]
                np.testing.assert_allclose(residual, jnp.linalg.norm(missed), atol=1e-12)
                assert np.abs(exact - value).min() <= residual + 1e-12
            np.testing.assert_allclose(found.values[0], expected[0], rtol=1e-3)
            assert (found.residuals > 1e-9).any()  # nine steps leave something out


def test_repeated_and_zero_eigenvalues_bring_no_false_ones():
    with jax.enable_x64(True):
        exact = np.array([5.0] * 3 + [2.0] * 10 + [-1.0] * 6)
        loss = quadratic(symmetric_matrix(eigenvalues=exact))
        found = Hessian(loss, tree_of(AT)).eigenvalues(KEY, 19)
        np.testing.assert_allclose(found.values, exact, atol=1e-10)
        flat = quadratic(np.zeros((19, 19)))
        found = Hessian(flat, tree_of(AT)).eigenvalues(KEY, 2)
        np.testing.assert_array_equal(found.values, 0)
        np.testing.assert_array_equal(found.residuals, 0)


def test_float32_keeps_its_basis_orthogonal():
    values = np.geomspace(1e-4, 1e2, 19)
    loss = quadratic(symmetric_matrix(eigenvalues=values), jnp.float32)
    found = Hessian(loss, tree_of(np.float32(AT))).eigenvalues(KEY, 19)
    np.testing.assert_allclose(found.values, values[::-1], atol=1e-4)
    flat = np.concatenate([x.reshape(19, -1) for x in jax.tree.leaves(found.vectors)], axis=1)
    np.testing.assert_allclose(flat @ flat.T, np.eye(19), atol=1e-5)


def test_the_density_has_the_moments_of_the_matrix():
    with jax.enable_x64(True):
        matrix = symmetric_matrix(eigenvalues=VALUES)
        found = Hessian(quadratic(matrix), tree_of(AT)).density(KEY, num_probes=3, num_steps=6)
        assert found.nodes.shape == (3, 6)
        np.testing.assert_allclose(found.weights.sum(1), 1, rtol=1e-12)
        assert (found.weights >= 0).all()
        first = 19 * (found.weights * found.nodes).sum(1)
        trace = Hessian(quadratic(matrix), tree_of(AT)).trace(KEY, 3)  # the same probes
        np.testing.assert_allclose(first.mean(), trace.mean, rtol=1e-10)


def test_a_full_quadrature_integrates_any_function():
    with jax.enable_x64(True):
        diagonal = np.arange(1.0, 20)  # signs see the whole trace of a diagonal matrix
        found = Hessian(quadratic(np.diag(diagonal)), tree_of(AT)).density(KEY, num_probes=1)
        assert found.nodes.shape == (1, 19)
        np.testing.assert_allclose(found.nodes[0], diagonal, rtol=1e-10)
        np.testing.assert_allclose(found.weights, 1 / 19, rtol=1e-8)


def test_a_smoothed_density_is_one(loss):
    found = Hessian(loss, tree_of(np.float32(AT))).density(KEY, num_probes=2, num_steps=5)
    grid = jnp.linspace(-12.0, 18.0, 2000)
    curve = smoothed(found, grid, 0.3)
    np.testing.assert_allclose(curve.sum() * (grid[1] - grid[0]), 1, rtol=1e-4)
    one = type(found)(jnp.zeros((1, 1)), jnp.ones((1, 1)))
    np.testing.assert_allclose(smoothed(one, jnp.zeros(1), 0.5), 2 / np.sqrt(2 * np.pi), rtol=1e-6)


def test_arguments_that_do_not_fit_are_refused(loss):
    at = tree_of(np.float32(AT))
    for num in (0, 20):
        with pytest.raises(ValueError, match=f"num={num}: must be from 1 to 19, the number of"):
            Hessian(loss, at).eigenvalues(KEY, num)
    with pytest.raises(ValueError, match="num=5: must be from 1 to 4"):
        Hessian(loss, at).eigenvalues(KEY, 5, num_steps=4)
    with pytest.raises(ValueError, match="end='top': must be 'largest' or 'smallest'"):
        Hessian(loss, at).eigenvalues(KEY, 1, end="top")
    for name in ("num_probes", "num_steps", "chunk"):
        with pytest.raises(ValueError, match=f"{name}=0: must be at least 1"):
            Hessian(loss, at).density(KEY, **{name: 0})
    with pytest.raises(ValueError, match=r"width=0\.0: must be positive"):
        smoothed(Hessian(loss, at).density(KEY, num_probes=1, num_steps=1), jnp.zeros(1), 0.0)
    for measure in (
        lambda: Hessian(broken, at).eigenvalues(KEY, 1),
        lambda: Hessian(broken, at).density(KEY),
    ):
        with pytest.raises(ValueError, match=r"loss\(params\)=\[nan\]: must be finite"):
            measure()


def broken(params):
    return jnp.sqrt(-jnp.abs(params["head"]) - 1).sum()
