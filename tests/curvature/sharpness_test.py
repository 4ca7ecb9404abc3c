import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.curvature import critical_sharpness, sharpness
from tests.curvature.small_losses import (
    flat_of,
    symmetric_matrix,
    tree_of,
)

KEY = jax.random.key(0)
AT = np.random.default_rng(3).normal(size=19)
VALUES = np.linspace(0, 4, 19) ** 2 / 4
CONVEX = symmetric_matrix(eigenvalues=VALUES)


def bowl(params):
    """½ θᵀ A θ, without the slope of ``quadratic``."""
    flat = flat_of(params)
    return 0.5 * flat @ jnp.asarray(CONVEX, flat.dtype) @ flat


def slope(params):
    return 3 * params["w"].sum()


@pytest.mark.parametrize("first_step", [1e-3, 1e6])
def test_critical_sharpness_of_a_quadratic_is_its_curvature_along_the_gradient(first_step):
    with jax.enable_x64(True):
        gradient = CONVEX @ AT
        along = gradient @ CONVEX @ gradient / (gradient @ gradient)
        found = critical_sharpness(bowl, tree_of(AT), first_step=first_step, tolerance=1e-9)
        np.testing.assert_allclose(found.sharpness, along, rtol=1e-8)
        np.testing.assert_allclose(found.step * found.sharpness, 2, rtol=1e-12)
        coarse = critical_sharpness(bowl, tree_of(AT), first_step=first_step)
        np.testing.assert_allclose(coarse.sharpness, along, rtol=1 / 16)
        assert coarse.sharpness != found.sharpness
        other = np.random.default_rng(0).normal(size=19)
        step = 2 * (other @ gradient) / (other @ CONVEX @ other)
        given = tree_of(np.sign(step) * other)
        found = critical_sharpness(bowl, tree_of(AT), given, tolerance=1e-9)
        np.testing.assert_allclose(found.step, abs(step), rtol=1e-8)


def test_a_loss_that_never_or_always_rises_has_no_critical_step():
    at = {"w": jnp.ones(3)}
    never = critical_sharpness(slope, at)
    assert (never.sharpness, never.step) == (0, jnp.inf)
    always = critical_sharpness(slope, at, {"w": -jnp.ones(3)}, num_doublings=5)
    assert (always.sharpness, always.step) == (jnp.inf, 0)


def test_an_overflow_is_above_every_loss():
    at = {"w": jnp.ones(())}

    def walled(params):
        return jnp.where(params["w"] > 0, params["w"], jnp.nan)

    found = critical_sharpness(walled, at, tolerance=1e-4)
    np.testing.assert_allclose(found.step, 1, rtol=1e-4)


def test_sharpness_in_a_ball():
    with jax.enable_x64(True):
        found = sharpness(bowl, tree_of(np.zeros(19)), KEY, radius=0.3, num_steps=400)
        np.testing.assert_allclose(found, 0.3**2 * VALUES[-1] / 2, rtol=1e-10)
        few = sharpness(bowl, tree_of(np.zeros(19)), KEY, radius=0.3, num_steps=2)
        assert 0 < few < found  # a lower bound after any number of steps
        at = {"w": jnp.array([1.0, -2.0, 2.0])}
        np.testing.assert_allclose(sharpness(slope, at, KEY, radius=0.5), 1.5 * np.sqrt(3))
        adaptive = sharpness(slope, at, KEY, radius=0.5, adaptive=True)
        np.testing.assert_allclose(adaptive, 1.5 * 3)  # ‖|w|‖ = 3
        flat = sharpness(lambda p: 0 * p["w"].sum(), at, KEY, radius=0.5)
        assert flat == 0


def test_arguments_that_do_not_fit_are_refused():
    at = {"w": jnp.ones(3)}
    refused = {
        "first_step=0.0: must be positive": lambda: critical_sharpness(slope, at, first_step=0.0),
        "tolerance=1.0: must be between 0 and 1": lambda: critical_sharpness(
            slope, at, tolerance=1.0
        ),
        "num_doublings=0: must be at least 1": lambda: critical_sharpness(
            slope, at, num_doublings=0
        ),
        r"direction\['w'\] is missing: direction must have the leaves w": lambda: (
            critical_sharpness(slope, at, {})
        ),
        "radius=-1.0: must be positive": lambda: sharpness(slope, at, KEY, radius=-1.0),
        "num_steps=0: must be at least 1": lambda: sharpness(
            slope, at, KEY, radius=1.0, num_steps=0
        ),
    }
    for message, call in refused.items():
        with pytest.raises(ValueError, match=message):
            call()


def test_a_loss_that_is_not_finite_is_named():
    at = {"w": jnp.full(2, jnp.nan)}
    for measure in (
        lambda: critical_sharpness(slope, at),
        lambda: sharpness(slope, at, KEY, radius=1.0),
    ):
        with pytest.raises(ValueError, match=r"loss\(params\)=\[nan\]: must be finite"):
            measure()
