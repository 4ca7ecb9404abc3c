"""Curvature of any loss: it sees only ``loss(params)``, or log-probabilities of single contexts.

    params, loss = ..., lambda params: ...  # one real number, float32 or float64
    curved = hvp(loss, params, v)

Functions are pure, compile inside the caller's ``jit``, and ``vmap`` over a leading run axis, so
the curvature of several seeds is one program. Losses are in nats, traces in nats over squared
units of the parameters.
"""

from el_jax.curvature.blocks import restrict
from el_jax.curvature.checks import OperatorError, check_operator
from el_jax.curvature.exact import (
    ExactCost,
    exact_cost,
    exact_hessian_diagonal,
    exact_hessian_trace,
)
from el_jax.curvature.fisher import controlled_hessian_trace, fisher_trace
from el_jax.curvature.products import dense_hessian, ggn_vp, hvp, quadratic_form
from el_jax.curvature.sampling import SampledEstimate
from el_jax.curvature.sharpness import (
    CriticalSharpness,
    critical_sharpness,
    perturbation_curve,
    sharpness,
)
from el_jax.curvature.spectra import (
    Eigenpairs,
    SpectralDensity,
    smoothed,
    spectral_density,
    top_eigenvalues,
)
from el_jax.curvature.traces import (
    example_hessian_trace,
    hessian_diagonal,
    hessian_trace,
    scale_free_trace,
    trace_difference,
)

__all__ = [
    "CriticalSharpness",
    "Eigenpairs",
    "ExactCost",
    "OperatorError",
    "SampledEstimate",
    "SpectralDensity",
    "check_operator",
    "controlled_hessian_trace",
    "critical_sharpness",
    "dense_hessian",
    "exact_cost",
    "exact_hessian_diagonal",
    "exact_hessian_trace",
    "example_hessian_trace",
    "fisher_trace",
    "ggn_vp",
    "hessian_diagonal",
    "hessian_trace",
    "hvp",
    "perturbation_curve",
    "quadratic_form",
    "restrict",
    "scale_free_trace",
    "sharpness",
    "smoothed",
    "spectral_density",
    "top_eigenvalues",
    "trace_difference",
]
