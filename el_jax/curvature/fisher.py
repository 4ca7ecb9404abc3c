"""The Fisher matrix of a model, its trace by squared scores, and the Hessian's trace from it.

With s_y = ∇ log p_y(x) the score of label y in context x, and N contexts with labels y_i:

====================  ===========================  ==============================================
``all_labels_trace``  Σ_i Σ_y p_y ‖s_y‖² / N       trace of the Fisher matrix
``sampled_trace``     likewise, y drawn from p     the same, estimated
``empirical_trace``   Σ_i ‖s_{y_i}‖² / N           trace of the empirical Fisher matrix
Tr H                  -Σ_i Tr ∇² log p_{y_i} / N   trace of the Hessian of cross entropy
====================  ===========================  ==============================================

The Fisher matrix is the generalised Gauss-Newton matrix of softmax and cross entropy. All four
agree in expectation if the labels follow the model's distribution, and not otherwise: Liu, Xie, Li,
Ma 2023 (arXiv 2210.14199) measure ``sampled_trace`` with 50 labels in appendix B.1, while their
released code estimates Tr H.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from el_jax.curvature.arguments import check_count, check_examples, check_labels
from el_jax.curvature.gradient_norms import gradient_norms
from el_jax.curvature.hessian import GaussNewton, second_derivative
from el_jax.curvature.operator import Operator
from el_jax.curvature.sampling import (
    SampledEstimate,
    map_in_chunks,
    mean_over_contexts,
    numbered_keys,
    signs,
    weighted_mean,
)
from el_jax.types import Key, Params

SquaresAt = Callable[[Int[Array, " m"]], Float[Array, "m parts"]]


@dataclasses.dataclass(frozen=True, eq=False)
class Fisher(Operator):
    """F = Σ_i Σ_y p_y s_y s_yᵀ / N, over contexts i and the labels y of a model's own distribution.

    Traces cost one forward pass per context, and per context and label half to two thirds of a
    backward pass, since the gradients of matrices are never formed (``gradient_norms.py``). Memory
    is ``chunk * label_chunk`` times the cotangents of all layers and the gradients of non-matrix
    leaves. A weight used twice is one parameter: its contributions are summed before squaring.

    Attributes:
        logits: logits of one context, ``logits(params, context) -> [V]``. They are normalised here,
            so log-probabilities work as well.
        params: θ.
        contexts: a pytree whose leaves have one entry for each context, ``[N, ...]``.
        weights: weights of the contexts; equal when None.
        chunk: contexts at once.
        label_chunk: labels of a context at once.

    Raises:
        ValueError: if there are fewer than two contexts, leaves or weights differ in N, or a chunk
            is below 1.
    """

    logits: Callable[[Params, Any], Array]
    params: Params = dataclasses.field(repr=False)
    contexts: Any
    _: dataclasses.KW_ONLY
    weights: Float[Array, " N"] | None = None
    chunk: int = 8
    label_chunk: int = 1
    source: ClassVar[str] = "logits(params, context)"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("chunk", self.chunk)
        check_count("label_chunk", self.label_chunk)
        check_examples("contexts", self.contexts, self.weights)

    def matvec(self, v: Params) -> Params:
        """F v, as the Gauss-Newton matrix of all contexts."""
        return self._gauss_newton().matvec(v)

    def quadratic_form(self, v: Params) -> Float[Array, ""]:
        """vᵀ F v; see :meth:`GaussNewton.quadratic_form`."""
        return self._gauss_newton().quadratic_form(v)

    def value(self) -> Array:
        """The logits of all contexts, ``[N, V]``."""
        return self._all_logits(self.params)

    def of_block(self, merged: Callable[[Any], Params], block: dict[str, Array]) -> "Fisher":
        """See :meth:`Operator.of_block`."""
        logits = self.logits
        return dataclasses.replace(
            self, logits=lambda block, context: logits(merged(block), context), params=block
        )

    def all_labels_trace(self) -> SampledEstimate:
        """Tr F, exact in the labels, so that only the sampled contexts cause error."""

        def of_context(context: Any, _: None) -> Float[Array, "1 parts"]:
            return _fisher_of(*self._scores(context, self._whole()))[None]

        return self._mean(of_context, None)[0]

    def sampled_trace(self, key: Key, num_labels: int = 50) -> SampledEstimate:
        """Tr F from labels drawn from the model (Liu, Xie, Li, Ma 2023, appendix B.1).

        Args:
            key: key of the draws; with the same key two checkpoints see the same draws.
            num_labels: draws for each context; 50 in the paper.

        Returns:
            The estimate; ``probe_sem`` is the error of the drawn labels.

        Raises:
            ValueError: if there are fewer than two draws.
        """
        whole = {"trace": jax.tree.map(lambda _: 1.0, self.params)}
        return self.sampled_traces(whole, key, num_labels)["trace"]

    def sampled_traces(
        self, parts: Mapping[str, Any], key: Key, num_labels: int = 50
    ) -> dict[str, SampledEstimate]:
        """Weighted sums Σ_l a_l Tr F_ll over the leaves of the parameters, from the same scores.

        Any number of sums costs as much as one :meth:`sampled_trace`, which has the same other
        arguments and errors.

        Args:
            parts: name -> tree of numbers a_l like the parameters: 1 for the leaves of a group and
                0 for others gives the trace of its block, ‖W_l‖² the scale-free trace.
            key: key of the draws.
            num_labels: draws for each context.
        """
        check_count("num_labels", num_labels, least=2)
        rows = [jnp.stack([jnp.asarray(a) for a in jax.tree.leaves(p)]) for p in parts.values()]

        def of_context(context: Any, key: Key) -> Float[Array, "m parts"]:
            squares_at, log_probs = self._scores(context, rows)
            return squares_at(jax.random.categorical(key, log_probs, shape=(num_labels,)))

        found = self._mean(of_context, numbered_keys(key, self._num_contexts()))
        return dict(zip(parts, found, strict=True))

    def empirical_trace(self, observed: Int[Array, " N"]) -> SampledEstimate:
        """The trace of the empirical Fisher matrix, at the labels of the data.

        Raises:
            ValueError: unless there is one label per context, and each is a class.
        """
        check_examples("contexts and observed", (self.contexts, observed), self.weights)
        check_labels("observed", observed, self._num_classes(), self.weights)

        def of_context(context: Any, label: Int[Array, ""]) -> Float[Array, "1 parts"]:
            squares_at, _ = self._scores(context, self._whole())
            return squares_at(label[None])

        return self._mean(of_context, observed)[0]

    def controlled_hessian_trace(
        self, targets: Int[Array, " N"] | Float[Array, "N V"], key: Key, num_probes: int = 2
    ) -> SampledEstimate:
        """Tr H of cross entropy: Tr F over all labels, plus random probes for H - F.

        For log-probabilities u with derivatives u̇ and ü along a probe v, and targets q, vᵀ(H - F)v
        = -Σ_c (q_c ü_c + p_c u̇_c²), which one forward second derivative gives. Probe errors come
        from H - F alone: they are zero if q is the model's own distribution p, and a sum with mean
        zero if labels are drawn from p. The cost is that of :meth:`all_labels_trace` plus
        ``num_probes`` products per context.

        Args:
            targets: labels of the data, or the distribution of the label in each context.
            key: key of the probes; each context has its own probes.
            num_probes: probes per context.

        Raises:
            ValueError: unless there is one target per context, each label is a class, and there
                are at least two probes.
        """
        check_examples("contexts and targets", (self.contexts, targets), self.weights)
        if targets.ndim == 1:
            check_labels("targets", targets, self._num_classes(), self.weights)
        check_count("num_probes", num_probes, least=2)

        def of_context(context: Any, given: tuple[Array, Key]) -> Float[Array, "m 1"]:
            target, key = given
            squares_at, log_probs = self._scores(context, self._whole())
            probs = jnp.exp(log_probs)
            q = target if target.ndim else jax.nn.one_hot(target, probs.size, dtype=probs.dtype)

            def remainder(key: Key) -> Float[Array, ""]:
                slope, curve = second_derivative(
                    lambda p: jax.nn.log_softmax(self.logits(p, context)),
                    self.params,
                    signs(key, self.params),
                )
                return -(q * curve + probs * jnp.square(slope)).sum()

            remainders = jax.lax.map(remainder, numbered_keys(key, num_probes))
            return (_fisher_of(squares_at, log_probs) + remainders)[:, None]

        return self._mean(of_context, (targets, numbered_keys(key, self._num_contexts())))[0]

    def _mean(
        self, of_context: Callable[[Any, Any], Float[Array, "m parts"]], given: Any
    ) -> list[SampledEstimate]:
        """The mean over contexts of each part, given an input for each context."""
        values = map_in_chunks(lambda one: of_context(*one), (self.contexts, given), self.chunk)
        estimates = [
            mean_over_contexts(values[:, :, part], self.weights) for part in range(values.shape[2])
        ]
        for estimate in estimates:
            self.check_finite("trace", estimate.mean)
        return estimates

    def _scores(
        self, context: Any, rows: Sequence[Float[Array, " L"]]
    ) -> tuple[SquaresAt, Float[Array, " V"]]:
        """The function from labels to squared scores, summed by ``rows``; and log-probabilities."""
        log_probs, norms = gradient_norms(
            lambda params: jax.nn.log_softmax(self.logits(params, context)), self.params
        )

        def squares(label: Int[Array, ""]) -> Float[Array, " parts"]:
            of_leaves = norms((jnp.arange(log_probs.size) == label).astype(log_probs.dtype))
            return jnp.stack([(row * of_leaves).sum() for row in rows])

        return lambda labels: map_in_chunks(squares, labels, self.label_chunk), log_probs

    def _whole(self) -> list[Float[Array, " L"]]:
        return [jnp.ones(len(jax.tree.leaves(self.params)))]

    def _num_classes(self) -> int:
        return int(jax.eval_shape(self.value).shape[1])

    def _num_contexts(self) -> int:
        return check_examples("contexts", self.contexts, self.weights)

    def _all_logits(self, params: Params) -> Float[Array, "N V"]:
        of_context = jax.checkpoint(self.logits)
        return map_in_chunks(lambda one: of_context(params, one), self.contexts, self.chunk)

    def _gauss_newton(self) -> GaussNewton:
        def normaliser(logits: Float[Array, "N V"]) -> Float[Array, ""]:
            return weighted_mean(jax.nn.logsumexp(logits, axis=1), self.weights)

        return GaussNewton(self._all_logits, normaliser, self.params)


def _fisher_of(squares_at: SquaresAt, log_probs: Float[Array, " V"]) -> Float[Array, " parts"]:
    """Σ_y p_y ‖s_y‖² of one context."""
    return (jnp.exp(log_probs)[:, None] * squares_at(jnp.arange(log_probs.size))).sum(0)
