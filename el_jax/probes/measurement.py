"""All that is measured of a checkpoint's curvature: loss, traces, groups, spectrum."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from el_jax.curvature import SampledEstimate, blocks, smoothed, top_eigenvalues
from el_jax.curvature.sampling import mean_over_contexts
from el_jax.probes.contexts import context_logits
from el_jax.probes.curvature import (
    NUM_LABELS,
    NUM_PROBES,
    Grouping,
    group_function,
    group_traces,
    traces,
    weight_norm,
)
from el_jax.probes.curvature_report import Curvature
from el_jax.probes.spectrum import Spectrum, mean_cross_entropy, spectrum
from el_jax.probes.true_conditional import true_conditional
from el_jax.runtime.errors import NOT_FINITE, UserError
from el_jax.tasks import CausalWords, MaskedWords, Task
from el_jax.types import Batch, Estimate, Key, ModelFns, Params

DENSITY_POINTS, DENSITY_WIDTH = 400, 0.01  # of the range of eigenvalues


class NotFiniteError(UserError, ValueError):
    """The loss of a checkpoint is NaN or infinite, so it has no curvature."""

    exit_code = NOT_FINITE


def measurement(
    task: Task | None,
    model: ModelFns,
    windows: Batch,
    key: Key,
    *,
    grouping: Grouping | None = "kind",
    num_labels: int = NUM_LABELS,
    num_probes: int = NUM_PROBES,
    num_eigenvalues: int = 5,
    lanczos_steps: int = 40,
    density_probes: int = 4,
) -> Callable[[Params], Curvature]:
    """The function from parameters to their curvature; it compiles once for all checkpoints.

    Args:
        task: the task; of a world's words the expected cross-entropy on test sentences is told as
            well, as divergence from the truth and entropy. None for words of which nothing is
            known.
        model: the model, in float32 and with attention that can be differentiated twice.
        windows: contexts of :func:`~el_jax.probes.contexts_of`.
        key: of labels, probes and starting vectors.
        grouping: groups whose traces and largest eigenvalues are told; None for none.
        num_labels: see :func:`~el_jax.probes.curvature.traces`, as for ``num_probes``.
        num_probes: probes of the Hessian in each context.
        num_eigenvalues: see :func:`~el_jax.probes.spectrum.spectrum`; 0 for no spectrum.
        lanczos_steps: products for each end of the spectrum and each probe.
        density_probes: probes of the density.

    Raises:
        NotFiniteError: the loss of a checkpoint is not finite (when the function is called).
    """
    logits = context_logits(model)
    trace_key, spectrum_key = jax.random.split(key)
    truth = None
    if isinstance(task, MaskedWords | CausalWords):
        truth = true_conditional(task, model).of_params

    @jax.jit
    def losses(params: Params, windows: Batch) -> SampledEstimate:
        values = jax.lax.map(
            lambda w: -jax.nn.log_softmax(logits(params, w))[w.labels[0]], windows, batch_size=256
        )
        return mean_over_contexts(values[:, None])

    @jax.jit
    def of_traces(params: Params, windows: Batch) -> tuple[dict[str, SampledEstimate], ...]:
        whole = traces(
            logits, params, windows, trace_key, num_labels=num_labels, num_probes=num_probes
        )
        if grouping is None:
            return whole, {}
        return whole, group_traces(
            logits, params, windows, trace_key, grouping, num_labels=num_labels
        )

    of_spectra = _spectra(
        model, spectrum_key, grouping,
        num=num_eigenvalues, num_steps=lanczos_steps, num_probes=density_probes,
    )  # fmt: skip

    def of(params: Params) -> Curvature:
        ce = losses(params, windows)
        if not np.isfinite(ce.mean):
            raise NotFiniteError(f"loss={float(ce.mean)}: must be finite")
        numbers: dict[str, Estimate | SampledEstimate] = {"ce": ce}
        if truth is not None:
            numbers |= _divergence(truth(jax.tree.map(lambda leaf: leaf[None], params)))
        whole, groups = of_traces(params, windows)
        numbers |= whole | {"weight_norm": _without_error(weight_norm(params))}
        if not num_eigenvalues:
            return Curvature(numbers, groups, {}, None)
        found, of_blocks = of_spectra(params, windows)
        numbers |= _eigenvalues(found)
        return Curvature(numbers, groups, of_blocks, _curve(found))

    return of


def _spectra(
    model: ModelFns,
    key: Key,
    grouping: Grouping | None,
    *,
    num: int,
    num_steps: int,
    num_probes: int,
) -> Callable[[Params, Batch], tuple[Spectrum, dict[str, Estimate]]]:
    """The spectrum, and the largest eigenvalue of every group's block with its residual."""

    @jax.jit
    def of(params: Params, windows: Batch) -> tuple[Spectrum, dict[str, Estimate]]:
        loss = mean_cross_entropy(model, windows)
        whole = spectrum(loss, params, key, num=num, num_steps=num_steps, num_probes=num_probes)
        if grouping is None:
            return whole, {}
        tops = {
            group: top_eigenvalues(*block, key, 1, num_steps=num_steps)
            for group, block in blocks(loss, params, group_function(grouping)).items()
        }
        return whole, {g: Estimate(top.values[0], top.residuals[0]) for g, top in tops.items()}

    return of


def _curve(found: Spectrum) -> Float[np.ndarray, "2 points"]:
    """The density between both ends of a spectrum, and a little beyond."""
    low, high = float(found.smallest[0]), float(found.largest[0])
    width = DENSITY_WIDTH * (high - low)
    at = jnp.linspace(low - 5 * width, high + 5 * width, DENSITY_POINTS)
    return np.stack([at, smoothed(found.density, at, width)])


def _without_error(value: Array) -> Estimate:
    return Estimate(value, jnp.array(jnp.nan))


def _divergence(found: dict[str, Array]) -> dict[str, Estimate]:
    """The expected cross-entropy on test sentences, and its parts: the model's and the words'."""
    kl, entropy = found["kl"][0], found["entropy"][0]
    return {
        "expected_ce": _without_error(kl + entropy),
        "kl": Estimate(kl, found["kl_sem"][0]),
        "entropy": _without_error(entropy),
    }


def _eigenvalues(found: Spectrum) -> dict[str, Estimate]:
    of_largest, of_least = found.residuals
    numbers = {
        f"eigenvalue_{i + 1}": Estimate(value, residual)
        for i, (value, residual) in enumerate(zip(found.largest, of_largest, strict=True))
    }
    return numbers | {"least_eigenvalue": Estimate(found.smallest[0], of_least[0])}
