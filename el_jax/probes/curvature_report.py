"""The curvature of a checkpoint: named estimates, printed and written under the same names."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from el_jax.curvature import SampledEstimate, paired_difference
from el_jax.types import Estimate

WORDS = {
    "ce": "cross-entropy of the contexts, nats",
    "expected_ce": "that of test sentences: kl + entropy",
    "kl": "divergence from the truth, nats",
    "entropy": "of the truth, nats",
    "fisher_trace": "Tr F, and that of its blocks",
    "hessian_trace": "Tr H",
    "scale_free_trace": "Σ ‖W‖² Tr F over leaves",
    "weight_norm": "length of all parameters",
    "eigenvalue_1": "largest of H ± its residual",
    "least_eigenvalue": "of H ± its residual",
}
Estimates = dict[str, Estimate | SampledEstimate]


class Curvature(NamedTuple):
    """The curvature of one checkpoint.

    Attributes:
        estimates: metric -> value and standard error (both of its parts, for means over contexts);
            the residual for an eigenvalue, and NaN if there is no error.
        density: eigenvalues, and the density of all eigenvalues there, ``[2, points]``; None if not
            requested.
    """

    estimates: Estimates
    density: Float[np.ndarray, "2 points"] | None

    def traces(self) -> dict[str, Estimate]:
        """The traces of Hessian and Fisher matrix, whole and by group, for a figure."""
        return {
            name: Estimate(value.mean, value.sem)
            for name, value in self.estimates.items()
            if name.startswith(("fisher_trace", "hessian_trace"))
        }


def since(step: int | None, before: Estimates, after: Estimates) -> Estimates:
    """Paired differences of the means over contexts from the checkpoint of an earlier step.

    Args:
        step: the earlier step.
        before: the estimates there, on the same contexts and draws.
        after: the later estimates.
    """
    found: Estimates = {}
    for name, value in after.items():
        earlier = before[name]
        if isinstance(value, SampledEstimate) and isinstance(earlier, SampledEstimate):
            found[f"{name}, since step {step}"] = paired_difference(earlier, value)
    return found


def line(name: str, value: Estimate | SampledEstimate) -> str:
    """An estimate for a terminal, with the meaning of its name."""
    return f"  {name:40s} {shown(value):42s} {WORDS.get(name, '')}".rstrip()


def row(name: str, value: Estimate | SampledEstimate) -> tuple[str, float, float, float, float]:
    """An estimate for a table: metric, value, sem, context_sem, probe_sem."""
    parts = (value.context_sem, value.probe_sem) if isinstance(value, SampledEstimate) else ()
    context_sem, probe_sem = map(float, parts or (np.nan, np.nan))
    return name, float(value.mean), float(value.sem), context_sem, probe_sem


def shown(value: Estimate | SampledEstimate) -> str:
    """The value with its error, and the two parts of the error if draws contribute."""
    number, error = f"{float(value.mean):.4g}", float(value.sem)
    if np.isnan(error):
        return number
    if not isinstance(value, SampledEstimate) or not value.probe_sem:
        return f"{number} ± {error:.2g}"
    parts = f"contexts {float(value.context_sem):.2g}, draws {float(value.probe_sem):.2g}"
    return f"{number} ± {error:.2g} ({parts})"
