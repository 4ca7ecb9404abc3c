"""Paths between minima: losses on them by hand, a barrier that a curve goes round, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.curvature import curved_path, linear_path

KEY = jax.random.key(0)
LEFT, RIGHT = {"x": jnp.array([-1.0, 0.0])}, {"x": jnp.array([1.0, 0.0])}


def ring(params):
    """0 on the unit circle: its minima are connected, and not by a straight line."""
    return jnp.square(jnp.square(params["x"]).sum() - 1)


def test_a_straight_line_has_the_losses_of_its_points():
    path = linear_path(ring, LEFT, RIGHT, num=5)
    np.testing.assert_allclose(path.places, [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(path.losses, [0, 0.5625, 1, 0.5625, 0], atol=1e-6)
    assert float(path.barrier) == pytest.approx(1)
    assert path.bend is None


def test_a_barrier_is_the_rise_over_the_line_between_both_ends():
    def tilted(params):
        return 3 * params["x"][0] + 5 + ring(params)

    path = linear_path(tilted, LEFT, RIGHT, num=5, chunk=2)
    np.testing.assert_allclose(path.losses[jnp.array([0, -1])], [2, 8], rtol=1e-6)
    assert float(path.barrier) == pytest.approx(1, rel=1e-5)
    convex = linear_path(lambda p: jnp.square(p["x"]).sum(), LEFT, RIGHT)
    assert float(convex.barrier) == 0


def test_a_curve_goes_round_the_barrier():
    # the straight line is a ridge; a step beside it shows the way down
    aside = {"x": jnp.array([1.0, 0.02])}
    path = jax.jit(lambda: curved_path(ring, LEFT, aside, KEY, num_steps=2000))()
    assert float(path.barrier) < 0.15
    assert float(linear_path(ring, LEFT, aside).barrier) > 0.99
    left, bend, right = (np.asarray(end["x"]) for end in (LEFT, path.bend, aside))
    t = np.asarray(path.places)[:, None]
    points = (1 - t) ** 2 * left + 2 * t * (1 - t) * bend + t**2 * right
    np.testing.assert_allclose(path.losses, [ring({"x": p}) for p in points], atol=1e-5)


def test_curves_of_several_runs_are_one_program():
    ends = {"x": jnp.array([[1.0, 0.02], [0.0, 1.0]])}
    together = jax.jit(
        jax.vmap(lambda end: curved_path(ring, LEFT, end, KEY, num_steps=20).losses)
    )(ends)
    for i, losses in enumerate(together):
        end = jax.tree.map(lambda leaf: leaf[i], ends)  # noqa: B023
        alone = jax.jit(lambda end: curved_path(ring, LEFT, end, KEY, num_steps=20))(end)
        np.testing.assert_allclose(losses, alone.losses, atol=1e-6)


def test_what_is_no_path_is_one_line():
    with pytest.raises(ValueError, match="num=2: must be at least 3"):
        linear_path(ring, LEFT, RIGHT, num=2)
    with pytest.raises(ValueError, match=r"learning_rate=0\.0: must be positive"):
        curved_path(ring, LEFT, RIGHT, KEY, learning_rate=0.0)
    with pytest.raises(ValueError, match=r"second\['x'\] is float32\[3\]: must be float32\[2\]"):
        linear_path(ring, LEFT, {"x": jnp.zeros(3)})
    with pytest.raises(ValueError, match="finite"):
        linear_path(lambda p: jnp.log(p["x"][0]), LEFT, RIGHT)
