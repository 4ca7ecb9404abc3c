"""The Hessian of a loss, of a mean over sampled examples, and the Gauss-Newton matrix.

``Tr H`` is the trace of the Hessian of the given loss, with the labels of the data. The trace of
the Fisher matrix (``fisher.py``) is another quantity; they agree if the model's distribution is
that of the data.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.curvature.arguments import (
    check_count,
    check_examples,
    check_tangent,
)
from el_jax.curvature.operator import Operator
from el_jax.curvature.sampling import (
    SampledEstimate,
    map_in_chunks,
    mean_over_contexts,
    numbered_keys,
    signs,
    weighted_mean,
)
from el_jax.process.errors import require
from el_jax.types import Estimate, Key, Params

SomeHessian = TypeVar("SomeHessian", bound="Hessian")


@dataclasses.dataclass(frozen=True, eq=False)
class Hessian(Operator):
    """H = ∇²L at θ.

    Attributes:
        loss: L, a twice differentiable function of the parameters; for :meth:`over`, it takes the
            parameters and an example.
        params: θ.
    """

    loss: Callable[..., Array]
    params: Params = dataclasses.field(repr=False)
    source: ClassVar[str] = "loss(params)"

    def at(self, params: Params) -> Array:
        """L at other parameters."""
        return self.loss(params)

    def matvec(self, v: Params) -> Params:
        """H v, a Hessian-vector product: the derivative of the gradient along v (Pearlmutter 1994).

        Errors are those of :meth:`Operator.matvec`.
        """
        return jax.jvp(jax.grad(self.at), (self.params,), (v,))[1]

    def quadratic_form(self, v: Params) -> Float[Array, ""]:
        """vᵀ H v, the second derivative of t ↦ L(θ + t v) at 0, forward over forward."""
        second = second_derivative(self.at, self.params, v)[1]
        require("loss.shape", second.shape, second.shape == (), "that of one number, ()")
        return second

    def value(self) -> Array:
        """L(θ)."""
        return self.at(self.params)

    def of_block(
        self: SomeHessian, merged: Callable[[Any], Params], block: dict[str, Array]
    ) -> SomeHessian:
        """See :meth:`Operator.of_block`."""
        loss = self.loss
        return dataclasses.replace(
            self, loss=lambda block, *example: loss(merged(block), *example), params=block
        )

    def difference_to(self, after: Params) -> "Hessian":
        """H(after) - H(θ).

        Its trace uses the same probes at both ends, so its error is that of paired differences, far
        below that of two separate estimates if the Hessians are similar. It costs as much as both.
        It has no scale-free trace, since the leaves at its two ends have norms of their own.

        Raises:
            ValueError: if ``after`` does not have the tree of the parameters.
        """
        check_tangent(self.params, after, "after")

        def difference(step: Params) -> Array:
            later, sooner = (jax.tree.map(jnp.add, at, step) for at in (after, self.params))
            return self.at(later) - self.at(sooner)

        return _Difference(difference, jax.tree.map(jnp.zeros_like, self.params))

    def over(
        self, examples: Any, *, weights: Float[Array, " N"] | None = None, chunk: int = 1
    ) -> "SampledHessian":
        """The Hessian of the mean of ``loss(params, example)`` over sampled examples.

        Args:
            examples: a pytree whose leaves have one entry for each example, ``[N, ...]``.
            weights: weights of the examples, such as numbers of masked tokens; equal when None.
            chunk: examples at once.

        Raises:
            ValueError: if there are fewer than two examples, or leaves or weights differ in N.
        """
        return SampledHessian(self.loss, self.params, examples, weights, chunk)


class _Difference(Hessian):
    """The difference of two Hessians; its parameters are the step from both, 0."""

    def scale_free_trace(self, key: Key, num_probes: int, *, chunk: int = 1) -> Estimate:
        del key, num_probes, chunk
        raise ValueError("scale_free_trace of a difference: take the difference of both traces")


@dataclasses.dataclass(frozen=True, eq=False)
class SampledHessian(Hessian):
    """The Hessian of a mean over sampled examples; :meth:`Hessian.over` makes it."""

    examples: Any
    weights: Float[Array, " N"] | None
    chunk: int
    source: ClassVar[str] = "loss(params, example)"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_examples("examples", self.examples, self.weights)

    def at(self, params: Params) -> Array:
        """The mean, with the activations of one chunk in memory at a time."""
        of_example = jax.checkpoint(self.loss)
        values = map_in_chunks(lambda one: of_example(params, one), self.examples, self.chunk)
        return weighted_mean(values, self.weights)

    def sampled_trace(self, key: Key, num_probes: int = 2) -> SampledEstimate:
        """Tr H, with the error of the sample and that of the probes.

        Each example has its own probes, so probe errors average out over examples.

        Args:
            key: key of the probes.
            num_probes: probes per example.

        Raises:
            ValueError: if ``num_probes`` is below 2.
        """
        check_count("num_probes", num_probes, least=2)

        def of_example(numbered: tuple[Any, Key]) -> Float[Array, " m"]:
            example, key = numbered
            hessian = Hessian(lambda params: self.loss(params, example), self.params)
            keys = numbered_keys(key, num_probes)
            return jax.vmap(lambda key: hessian.quadratic_form(signs(key, self.params)))(keys)

        keys = numbered_keys(key, check_examples("examples", self.examples, self.weights))
        values = map_in_chunks(of_example, (self.examples, keys), self.chunk)
        estimate = mean_over_contexts(values, self.weights)
        self.check_finite("trace", estimate.mean)
        return estimate


@dataclasses.dataclass(frozen=True, eq=False)
class GaussNewton(Operator):
    """G = Jᵀ (∇²ℓ) J, J the Jacobian of a model's outputs (Schraudolph 2002).

    G is H without the curvature of the model. For softmax and cross entropy it is the Fisher
    matrix, whatever the labels.

    Attributes:
        outputs: maps parameters to outputs, usually logits; any pytree.
        loss_of_outputs: ℓ, maps those outputs to one number.
        params: θ.
    """

    outputs: Callable[[Params], Any]
    loss_of_outputs: Callable[[Any], Array]
    params: Params = dataclasses.field(repr=False)
    source: ClassVar[str] = "loss_of_outputs(outputs)"

    def matvec(self, v: Params) -> Params:
        """G v; errors are those of :meth:`Operator.matvec`."""
        curved, _ = self._curved(v)
        return jax.vjp(self.outputs, self.params)[1](curved)[0]

    def quadratic_form(self, v: Params) -> Float[Array, ""]:
        """vᵀ G v = (J v)ᵀ (∇²ℓ) J v."""
        curved, along = map(jax.tree.leaves, self._curved(v))
        return jnp.stack(list(map(jnp.vdot, curved, along))).sum()

    def value(self) -> Array:
        """ℓ at θ."""
        return self.loss_of_outputs(self.outputs(self.params))

    def of_block(self, merged: Callable[[Any], Params], block: dict[str, Array]) -> "GaussNewton":
        """See :meth:`Operator.of_block`."""
        outputs = self.outputs
        return dataclasses.replace(self, outputs=lambda block: outputs(merged(block)), params=block)

    def _curved(self, v: Params) -> tuple[Any, Any]:
        """(∇²ℓ) J v, and J v."""
        outputs, along = jax.jvp(self.outputs, (self.params,), (v,))
        return jax.jvp(jax.grad(self.loss_of_outputs), (outputs,), (along,))[1], along


def second_derivative(
    function: Callable[[Params], Any], params: Params, v: Params
) -> tuple[Any, Any]:
    """First and second derivative of t ↦ f(θ + t v) at 0, each like the value of f."""
    # tied to v: otherwise a loop over v first computes everything independent of v and keeps every
    # activation, at 4.5 times the memory and 1.35 times the time on a CPU
    params, v = jax.lax.optimization_barrier((params, v))

    def slope(at: Params) -> Any:
        return jax.jvp(function, (at,), (v,))[1]

    return jax.jvp(slope, (params,), (v,))
