"""Curvature of any loss: it sees only ``loss(params)``, or the logits of single contexts.

    mean, sem = hessian_trace(loss, params, jax.random.key(0), num_probes=100)

=============  ==================================================================================
products       ``hvp``, ``quadratic_form``, ``ggn_vp``, ``dense_hessian``; ``mean_over_parts`` of a
               batch takes the memory of a part
traces         ``hessian_trace``, ``scale_free_trace``, ``trace_difference`` of two checkpoints,
               ``hessian_diagonal``; ``example_hessian_trace`` with the error of the sample;
               ``paired_difference`` of two estimates over the same contexts
sketches       ``hutch_plus_plus`` and ``xtrace``: less error where few eigenvalues hold the trace;
exact          ``exact_hessian_trace``, ``exact_hessian_diagonal``, at ``exact_cost``
Fisher         ``fisher_trace`` with all, sampled or observed labels, ``fisher_traces`` of groups of
               leaves at once; with it as control variate ``controlled_hessian_trace``
spectra        ``top_eigenvalues`` with residuals, ``spectral_density``, ``smoothed``
at a distance  ``critical_sharpness``, ``sharpness`` in a ball
of a group     any of these of ``restrict(loss, params, belongs)``: a layer, a kind of matrix;
               ``blocks(loss, params, group_of)`` is every group's
of your own    ``check_operator`` tests a product with a curvature matrix
=============  ==================================================================================

Functions are pure. They compile inside the caller's ``jit``, which they want: outside of it each
call compiles its loops anew. They ``vmap`` over a leading run axis, so the curvature of several
seeds is one program. With one key, two checkpoints see the same probes. Losses are in nats, traces
and eigenvalues in nats over squared units of the parameters.
"""

from el_jax.curvature.blocks import blocks, restrict, split_params
from el_jax.curvature.checks import OperatorError, check_operator
from el_jax.curvature.exact import (
    ExactCost,
    exact_cost,
    exact_hessian_diagonal,
    exact_hessian_trace,
)
from el_jax.curvature.fisher import controlled_hessian_trace, fisher_trace, fisher_traces
from el_jax.curvature.parts import mean_over_parts
from el_jax.curvature.products import dense_hessian, ggn_vp, hvp, quadratic_form
from el_jax.curvature.sampling import SampledEstimate, paired_difference
from el_jax.curvature.sharpness import CriticalSharpness, critical_sharpness, sharpness
from el_jax.curvature.sketches import hutch_plus_plus, xtrace
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
    "blocks",
    "check_operator",
    "controlled_hessian_trace",
    "critical_sharpness",
    "dense_hessian",
    "exact_cost",
    "exact_hessian_diagonal",
    "exact_hessian_trace",
    "example_hessian_trace",
    "fisher_trace",
    "fisher_traces",
    "ggn_vp",
    "hessian_diagonal",
    "hessian_trace",
    "hutch_plus_plus",
    "hvp",
    "mean_over_parts",
    "paired_difference",
    "quadratic_form",
    "restrict",
    "scale_free_trace",
    "sharpness",
    "smoothed",
    "spectral_density",
    "split_params",
    "top_eigenvalues",
    "trace_difference",
    "xtrace",
]
