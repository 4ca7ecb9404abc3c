"""All measurements of a checkpoint's curvature: loss, traces, groups, spectrum."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, ScalarLike

from el_jax.curvature import (
    Hessian,
    SampledEstimate,
    SampledHessian,
    SpectralDensity,
    smoothed,
)
from el_jax.curvature.sampling import mean_over_contexts
from el_jax.probes.contexts import Logits, context_cross_entropy, context_logits
from el_jax.probes.curvature import (
    NUM_LABELS,
    NUM_PROBES,
    Grouping,
    traces,
    weight_norm,
)
from el_jax.probes.curvature_report import Curvature, Estimates
from el_jax.probes.true_conditional import true_conditional
from el_jax.process.compilation import Once
from el_jax.process.errors import NOT_FINITE, UserError
from el_jax.tasks import CausalWords, MaskedWords, Task
from el_jax.types import Batch, Estimate, Key, ModelFns, Params

DENSITY_POINTS, DENSITY_WIDTH = 400, 0.01  # width as a share of the eigenvalue range
SPECTRUM_CHUNK = 256  # contexts at once
FEW = 256  # contexts; below this, use programs that compile faster and run longer


class NotFiniteError(UserError, ValueError):
    """The loss of a checkpoint is NaN or infinite, so it has no curvature."""

    exit_code = NOT_FINITE


def _mean_loss(logits: Logits, params: Params, windows: Batch) -> SampledEstimate:
    of_context = context_cross_entropy(logits)
    values = jax.lax.map(lambda w: of_context(params, w), windows, batch_size=256)
    return mean_over_contexts(values[:, None])


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
        task: the task; if its data come from a world, test cross-entropy is also reported as KL
            and entropy. None if the true distribution is unknown.
        model: the model, in float32 and with attention that can be differentiated twice.
        windows: contexts from :func:`~el_jax.probes.contexts_of`.
        key: key of labels, probes and starting vectors.
        grouping: groups whose traces are reported; None for no groups.
        num_labels: see :func:`~el_jax.probes.curvature.traces`, likewise ``num_probes``.
        num_probes: probes of the Hessian per context.
        num_eigenvalues: number of largest eigenvalues; 0 for no spectrum.
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

    compiled = Once if len(windows.labels) < FEW else jax.jit
    losses = compiled(functools.partial(_mean_loss, logits))
    of_traces = compiled(
        functools.partial(
            traces,
            logits,
            key=trace_key,
            num_labels=num_labels,
            num_probes=num_probes,
            grouping=grouping,
        )
    )
    of_spectra = _spectra(
        compiled,
        model,
        spectrum_key,
        num=num_eigenvalues,
        num_steps=lanczos_steps,
        num_probes=density_probes,
    )

    def of(params: Params) -> Curvature:
        ce = losses(params, windows)
        if not np.isfinite(ce.mean):
            raise NotFiniteError(f"loss={float(ce.mean)}: must be finite")
        found: Estimates = {"ce": ce}
        if truth is not None:
            found |= _divergence(truth(jax.tree.map(lambda leaf: leaf[None], params)))
        found |= of_traces(params, windows)
        found["weight_norm"] = _without_error(weight_norm(params))
        if not num_eigenvalues:
            return Curvature(found, None)
        eigenvalues, density = of_spectra(params, windows)
        found |= eigenvalues
        return Curvature(found, density)

    return of


def _spectra(
    compiled: Callable[[Callable], Callable],
    model: ModelFns,
    key: Key,
    *,
    num: int,
    num_steps: int,
    num_probes: int,
) -> Callable[[Params, Batch], tuple[dict[str, Estimate], Float[np.ndarray, "2 points"]]]:
    """The function to the Hessian's eigenvalues, with their residuals, and to their density."""

    @compiled
    def of_end(params: Params, windows: Batch, sign: ScalarLike, key: Key) -> tuple[Array, Array]:
        """Eigenvalues at one end, and their residuals: one program for both ends."""
        loss = _hessian(model, params, windows).at
        signed = Hessian(lambda at: jnp.asarray(sign) * loss(at), params)
        top = signed.eigenvalues(key, num, num_steps=num_steps)
        return jnp.asarray(sign) * top.values, top.residuals

    @compiled
    def of_density(params: Params, windows: Batch, key: Key) -> SpectralDensity:
        whole = _hessian(model, params, windows)
        return whole.density(key, num_probes=num_probes, num_steps=num_steps)

    def of(
        params: Params, windows: Batch
    ) -> tuple[dict[str, Estimate], Float[np.ndarray, "2 points"]]:
        keys = jax.random.split(key, 3)
        largest, least = (
            list(map(Estimate, *of_end(params, windows, sign, of_sign)))
            for sign, of_sign in zip((1.0, -1.0), keys, strict=False)
        )
        found = {f"eigenvalue_{i}": value for i, value in enumerate(largest, start=1)}
        density = of_density(params, windows, keys[2])
        curve = _curve(density, float(least[0].mean), float(largest[0].mean))
        return found | {"least_eigenvalue": least[0]}, curve

    return of


def _hessian(model: ModelFns, params: Params, windows: Batch) -> SampledHessian:
    of_context = context_cross_entropy(context_logits(model))
    return Hessian(of_context, params).over(windows, chunk=SPECTRUM_CHUNK)


def _curve(density: SpectralDensity, low: float, high: float) -> Float[np.ndarray, "2 points"]:
    """The density between both ends of a spectrum, and a little beyond."""
    width = DENSITY_WIDTH * (high - low)
    at = jnp.linspace(low - 5 * width, high + 5 * width, DENSITY_POINTS)
    return np.stack([at, smoothed(density, at, width)])


def _without_error(value: Array) -> Estimate:
    return Estimate(value, jnp.array(jnp.nan))


def _divergence(found: dict[str, Array]) -> dict[str, Estimate]:
    """The expected cross-entropy on test sentences, and its parts: KL and entropy."""
    kl, entropy = found["kl"][0], found["entropy"][0]
    return {
        "expected_ce": _without_error(kl + entropy),
        "kl": Estimate(kl, found["kl_sem"][0]),
        "entropy": _without_error(entropy),
    }
