"""Optimisation methods: the step that each subtracts from W, given the slope there.

A method is a frozen value, so that two equal ones share a compiled program. ``init(W)`` returns its
memory, ``step(slope, memory, step_size)`` the matrix to subtract and the new memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.linear_ntp.theory.landscape import Slope
from el_jax.linear_ntp.theory.norms import matrix_norm
from el_jax.process.errors import require

Memory = Any  # a pytree of arrays


@runtime_checkable
class Direction(Protocol):
    """The interface of a method; hashable."""

    def init(self, W: Float[Array, "V d"]) -> Memory:
        """The memory before the first step."""

    def step(
        self, slope: Slope, memory: Memory, step_size: Float[Array, ""]
    ) -> tuple[Float[Array, "V d"], Memory]:
        """The matrix to subtract from W, and the memory after the step."""


@dataclass(frozen=True)
class Steepest:
    """η · shape(running mean of gradients): steepest descent for a norm, with momentum.

    Attributes:
        shape: direction of steepest descent of a gradient, such as :func:`unit` or ``jnp.sign``.
        beta: weight of the past in the mean m <- β m + (1 - β) ∇CE; 0 has no memory. With the
            identity as shape this is heavy-ball momentum with step size η (1 - β).
        scaled: multiply by the dual norm of the mean, ⟨m, shape(m)⟩, as gradient descent does;
            otherwise steps keep their length however small the gradient. Without memory CE never
            rises for η <= 2 / (L V d) with signs and 2 / (L min(V, d)) with polar factors, where L
            is ``smoothness_bound``.
    """

    shape: Callable[[Array], Array]
    beta: float = 0.0
    scaled: bool = False

    def init(self, W: Float[Array, "V d"]) -> Memory:
        """A zero mean."""
        return jnp.zeros_like(W) if self.beta else ()

    def step(
        self, slope: Slope, memory: Memory, step_size: Float[Array, ""]
    ) -> tuple[Float[Array, "V d"], Memory]:
        """η · shape of the new mean."""
        mean = slope.gradient
        if self.beta:
            mean = memory = self.beta * memory + (1 - self.beta) * slope.gradient
        change = self.shape(mean)
        length = step_size * jnp.vdot(mean, change) if self.scaled else step_size
        return length * change, memory


@dataclass(frozen=True)
class Memoryless:
    """A step that depends on the slope alone.

    Attributes:
        change: maps the slope and η to the matrix to subtract.
    """

    change: Callable[[Slope, Array], Array]

    def init(self, W: Float[Array, "V d"]) -> Memory:  # noqa: ARG002
        """Nothing to remember."""
        return ()

    def step(
        self, slope: Slope, memory: Memory, step_size: Float[Array, ""]
    ) -> tuple[Float[Array, "V d"], Memory]:
        """The change."""
        return self.change(slope, step_size), memory


@dataclass(frozen=True)
class Adam:
    """Adam (Kingma and Ba 2015, arXiv 1412.6980) with both biases corrected.

    Attributes:
        beta1: decay of the mean of gradients.
        beta2: decay of the mean of squares; 0.99 as in the paper's Appendix A.2.
        epsilon: added to the root; with 0, a coordinate whose gradients were all 0 stays put.

    Raises:
        ValueError: a decay is not in [0, 1), or ε is negative.
    """

    beta1: float = 0.9
    beta2: float = 0.99
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        for name in ("beta1", "beta2"):
            require(name, beta := getattr(self, name), 0 <= beta < 1, "at least 0 and below 1")
        require("epsilon", self.epsilon, self.epsilon >= 0, "at least 0")

    def init(self, W: Float[Array, "V d"]) -> Memory:
        """Zero means, and no step taken."""
        return jnp.zeros_like(W), jnp.zeros_like(W), jnp.zeros((), W.dtype)

    def step(
        self, slope: Slope, memory: Memory, step_size: Float[Array, ""]
    ) -> tuple[Float[Array, "V d"], Memory]:
        """η · mean / (root mean square + ε)."""
        mean, square, steps = memory
        mean = self.beta1 * mean + (1 - self.beta1) * slope.gradient
        square = self.beta2 * square + (1 - self.beta2) * jnp.square(slope.gradient)
        steps = steps + 1
        root = jnp.sqrt(square / (1 - self.beta2**steps)) + self.epsilon
        change = jnp.where(root > 0, mean / jnp.where(root > 0, root, 1.0), 0.0)
        return step_size / (1 - self.beta1**steps) * change, (mean, square, steps)


def unit(gradient: Float[Array, "V d"]) -> Float[Array, "V d"]:
    """G / ‖G‖, zero for a zero matrix; entries are scaled first, since their squares underflow."""
    largest = jnp.abs(gradient).max()
    scaled = gradient / jnp.where(largest > 0, largest, 1.0)
    return scaled / jnp.where(largest > 0, jnp.linalg.norm(scaled), 1.0)


def largest_entry(gradient: Float[Array, "V d"]) -> Float[Array, "V d"]:
    """G at its largest entry (the first of equals), zero elsewhere: greedy coordinate descent."""
    flat = gradient.ravel()
    chosen = jnp.arange(flat.size) == jnp.abs(flat).argmax()
    return jnp.where(chosen, flat, 0.0).reshape(gradient.shape)


def polar_factor(gradient: Float[Array, "V d"]) -> Float[Array, "V d"]:
    """U Vᵀ of G = U Σ Vᵀ, without the directions in which G vanishes.

    Gradients of CE have at least one such direction, the mean over tokens, where the decomposition
    is arbitrary.
    """
    left, values, right = jnp.linalg.svd(gradient, full_matrices=False)
    least = jnp.finfo(values.dtype).eps * max(gradient.shape) * values[0]
    return (left * (values > least).astype(values.dtype)[None]) @ right


def newton_schulz(gradient: Float[Array, "V d"]) -> Float[Array, "V d"]:
    """Muon's approximation to :func:`polar_factor`: five quintic steps, singular values in 0.7-1.2.

    Coefficients of Jordan et al. 2024 (kellerjordan.github.io/posts/muon). Singular values below
    about 1e-3 of the norm are left smaller.
    """
    if gradient.shape[0] > gradient.shape[1]:
        return newton_schulz(gradient.T).T  # the smaller Gram matrix
    x = unit(gradient)
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x


def _itself(gradient: Float[Array, "V d"]) -> Float[Array, "V d"]:
    return gradient


def _polyak(slope: Slope, step_size: Array) -> Array:
    """η (CE - H) / ‖∇CE‖² ∇CE, exact since the infimum H is known; η is usually 1."""
    size = matrix_norm(slope.gradient, "frobenius")
    length = jnp.where(size > 0, slope.excess.total / jnp.where(size > 0, size, 1.0), 0.0)
    return step_size * length * unit(slope.gradient)


def _over_excess(slope: Slope, step_size: Array) -> Array:
    """η ∇CE / (CE - H) (Ji and Telgarsky 2019, arXiv 1906.04540)."""
    return step_size * _inverse(jnp.log(slope.excess.total)) * slope.gradient


def _over_leaked(slope: Slope, step_size: Array) -> Array:
    """η ∇CE / G (Tyurin 2024, arXiv 2412.08424)."""
    return step_size * _inverse(slope.log_leaked) * slope.gradient


def _inverse(log: Array) -> Array:
    """e^-log, finite: below e^-700 the gradient underflows too, and infinity times 0 is NaN."""
    return jnp.exp(-jnp.maximum(log, -700.0))


def _split(slope: Slope, step_size: Array) -> Array:
    """P_F ∇CE / λ_F + η · P_⊥∇CE / ‖P_⊥∇CE‖: each part of W at its own pace.

    Normalised gradient descent is pinned at the effective step size 2 / λ_F by the curved part in
    F. Here that part takes ordinary gradient steps and the flat part normalised ones, which keep
    their direction however small the leak becomes. A diagnostic: it must know F.
    """
    curved = slope.top_curvature > 0
    along = slope.along / jnp.where(curved, slope.top_curvature, 1.0)
    return jnp.where(curved, along, 0.0) + step_size * unit(slope.across)


DIRECTIONS: dict[str, Direction] = {
    "gd": Steepest(_itself),
    "momentum": Steepest(_itself, beta=0.9),
    "ngd": Steepest(unit),
    "normalized_momentum": Steepest(unit, beta=0.9),
    "sign": Steepest(jnp.sign),
    "signum": Steepest(jnp.sign, beta=0.9),
    "sign_scaled": Steepest(jnp.sign, scaled=True),
    "coordinate": Steepest(largest_entry),
    "spectral": Steepest(polar_factor),
    "spectral_scaled": Steepest(polar_factor, scaled=True),
    "muon": Steepest(polar_factor, beta=0.95),
    "muon_newton_schulz": Steepest(newton_schulz, beta=0.95),
    "adam": Adam(),
    "polyak": Memoryless(_polyak),
    "loss_normalized": Memoryless(_over_excess),
    "leak_normalized": Memoryless(_over_leaked),
    "split_ngd": Memoryless(_split),
}
