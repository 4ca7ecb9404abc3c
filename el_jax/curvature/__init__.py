"""Curvature of any loss, computed from ``loss(params)`` or the logits of single contexts.

    H = Hessian(loss, params)
    mean, sem = H.trace(jax.random.key(0), num_probes=100)

===============  ================================================================================
operators        ``Hessian`` of a loss or, with ``over``, of its mean over examples;
                 ``GaussNewton``; ``Fisher`` of a model's logits
of each          ``matvec`` (the Hessian-vector product, hvp), ``quadratic_form``, ``trace``,
                 ``scale_free_trace``, ``exact_trace``, ``exact_diagonal``, ``dense``,
                 ``eigenvalues`` with residuals, ``density``
of a group       any of these of ``restrict(belongs)``: a layer, a kind of matrix
over data        ``sampled_trace`` reports sampling and probe errors separately;
                 ``Fisher.sampled_traces`` covers groups of leaves at once;
                 ``paired_difference`` compares two estimates over the same contexts
sketches         ``hutch_plus_plus`` and ``xtrace``: less error where few eigenvalues hold the trace
at a distance    ``critical_sharpness``, ``sharpness`` in a ball
volume           ``local_learning_coefficient``
in parts         ``mean_over_parts`` of a batch takes the memory of a part
of your own      ``check_operator`` tests a product with a curvature matrix; ``conformance`` tests
                 code for such products, in JAX or PyTorch
===============  ================================================================================

Construct an operator inside the jitted function of the parameters: outside ``jit`` each call
compiles its loops again. Functions are pure and ``vmap`` over a leading run axis, so the curvature
of several seeds is one program. With the same key, two checkpoints see the same probes. Losses are
in nats, traces and eigenvalues in nats over squared units of the parameters.
"""

from el_jax.curvature.checks import OperatorError, check_operator
from el_jax.curvature.fisher import Fisher
from el_jax.curvature.hessian import GaussNewton, Hessian, SampledHessian
from el_jax.curvature.learning_coefficient import LearningCoefficient, local_learning_coefficient
from el_jax.curvature.operator import Operator
from el_jax.curvature.parts import mean_over_parts
from el_jax.curvature.sampling import SampledEstimate, paired_difference
from el_jax.curvature.sharpness import CriticalSharpness, critical_sharpness, sharpness
from el_jax.curvature.sketches import hutch_plus_plus, xtrace
from el_jax.curvature.spectra import Eigenpairs, SpectralDensity, smoothed

__all__ = [
    "CriticalSharpness",
    "Eigenpairs",
    "Fisher",
    "GaussNewton",
    "Hessian",
    "LearningCoefficient",
    "Operator",
    "OperatorError",
    "SampledEstimate",
    "SampledHessian",
    "SpectralDensity",
    "check_operator",
    "critical_sharpness",
    "hutch_plus_plus",
    "local_learning_coefficient",
    "mean_over_parts",
    "paired_difference",
    "sharpness",
    "smoothed",
    "xtrace",
]
