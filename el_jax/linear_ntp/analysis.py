"""All results of the linear theory for one problem, in one call and in words."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from el_jax.linear_ntp.problems.problem import NTPProblem, check_problem
from el_jax.linear_ntp.solvers.conditions import (
    Compatibility,
    Separability,
    check_compatibility,
    check_separability,
)
from el_jax.linear_ntp.solvers.limit import LimitProblem, limit_problem
from el_jax.linear_ntp.solvers.max_margin import (
    MaxMargin,
    NotSeparableError,
    UndecidedError,
    max_margin,
)
from el_jax.linear_ntp.theory.conditioning import Conditioning, conditioning
from el_jax.linear_ntp.theory.norms import Norm, check_norm
from el_jax.linear_ntp.theory.objective import entropy_lower_bound, smoothness_bound
from el_jax.linear_ntp.theory.subspace import data_subspace, finite_component, top_curvature

_WIDE = 1e-6  # gap above which a margin is reported as not converged
_MOST_PAIRS = 2_000  # context-token pairs up to which analyze() finds the limit: seconds


@dataclass(frozen=True, eq=False, repr=False)
class Analysis:
    """Verdicts on a problem, and where training it should go.

    Attributes:
        problem: the data.
        entropy: H, the infimum of cross entropy if both conditions hold, in nats.
        subspace_dim: dimension of F; None where it is too large for an explicit basis.
        finite: W*; if the data are not compatible, the least-squares solution, ``[V, d]``.
        top_curvature: λ_F, the largest curvature along F at W*; 0 without F.
        smoothness: upper bound on the Lipschitz constant of ∇CE.
        compatibility: whether some W has the in-support log ratios.
        separability: whether some W separates supports from the rest.
        margins: solution of NTP-SVM by norm; empty unless separable.
        failures: by norm, why there is no solution although the data are separable.
        limit: the limit of training if a condition fails. None if both hold, if separability is
            undecided, or if [V, m] has over 2,000 entries (call :func:`limit_problem`).
        conditioning: how hard the embeddings are for float64.
    """

    problem: NTPProblem
    entropy: float
    subspace_dim: int | None
    finite: Float64[np.ndarray, "V d"]
    top_curvature: float
    smoothness: float
    compatibility: Compatibility
    separability: Separability
    margins: Mapping[str, MaxMargin]
    failures: Mapping[str, str]
    limit: LimitProblem | None
    conditioning: Conditioning

    @property
    def references(self) -> dict[str, Float64[np.ndarray, "V d"]]:
        """The max-margin matrices by norm, as trajectories and metrics take them."""
        return {norm: solution.w for norm, solution in self.margins.items()}

    def __repr__(self) -> str:
        found = {"compatible": self.compatibility.holds, "separable": self.separability.holds}
        words = {True: "yes", False: "no", None: "undecided"}
        lines = [", ".join(f"{condition}: {words[holds]}" for condition, holds in found.items())]
        lines += [f"{n} margin {m.margin:.6g}, gap {m.gap:.1e}" for n, m in self.margins.items()]
        lines += [f"{norm} margin: none" for norm in self.failures]
        return f"Analysis({'; '.join(lines)})"

    def describe(self) -> list[str]:
        """The findings in plain words, one a line."""
        problem = self.problem
        sizes = problem.support.sum(axis=0)
        least, most = sizes.min(), sizes.max()
        largest_step = 2 / self.smoothness if self.smoothness > 0 else np.inf  # 0 if H is 0
        lines = [
            f"{problem.num_contexts} contexts in {problem.dim} dimensions, {problem.vocab_size} "
            f"tokens, {least if least == most else f'{least} to {most}'} of them after a context",
            self.conditioning.describe(),
            f"entropy {self.entropy:.6g} nats; data subspace of dimension "
            f"{'unknown' if self.subspace_dim is None else self.subspace_dim}, "
            f"‖W*‖ = {np.linalg.norm(self.finite):.6g}, λ_F = {self.top_curvature:.6g}; gradient "
            f"descent converges for step sizes below {largest_step:.4g}",
            _verdict("compatible", self.compatibility),
            _verdict("separable", self.separability),
            *([] if self.limit is None else [_outcome(problem, self.limit, self.entropy)]),
        ]
        constraints = int((~problem.support).sum())
        lines += [
            f"max margin in the {norm} norm {solution.margin:.9g} (relative gap "
            f"{solution.gap:.1e}{_unsolved(solution)}), {len(solution.active)} of {constraints} "
            "constraints bind"
            for norm, solution in self.margins.items()
        ]
        lines += [f"no max margin in the {norm} norm: {why}" for norm, why in self.failures.items()]
        return lines


def analyze(problem: NTPProblem, *, norms: Norm | Sequence[Norm] = ("frobenius",)) -> Analysis:
    """Check both conditions and, if the data are separable, solve NTP-SVM in each norm.

    Args:
        problem: the data; merge contexts that coincide first (:func:`merge_contexts`).
        norms: "frobenius", "max", "spectral", "nuclear"; one or several.

    Raises:
        ValueError: for an unknown norm.
        TypeError: if ``problem`` is not an NTPProblem.
    """
    check_problem(problem)
    chosen = (norms,) if isinstance(norms, str) else tuple(norms)
    for norm in chosen:
        check_norm(norm)
    separability = check_separability(problem)
    compatibility = check_compatibility(problem)
    margins, failures = _margins(problem, chosen) if separability.holds else ({}, {})
    return Analysis(
        problem=problem,
        entropy=entropy_lower_bound(problem),
        subspace_dim=data_subspace(problem).dim,
        finite=finite_component(problem),
        top_curvature=top_curvature(problem),
        smoothness=smoothness_bound(problem),
        compatibility=compatibility,
        separability=separability,
        margins=margins,
        failures=failures,
        limit=_limit(problem, separability, compatibility),
        conditioning=conditioning(problem.embeddings),
    )


def _margins(
    problem: NTPProblem, norms: Sequence[Norm]
) -> tuple[dict[str, MaxMargin], dict[str, str]]:
    """The solutions, converged or not, and for each norm without one the reason."""
    margins: dict[str, MaxMargin] = {}
    failures: dict[str, str] = {}
    for norm in norms:
        try:
            with warnings.catch_warnings():
                # describe() gives the gap of every norm
                warnings.filterwarnings("ignore", "max margin in the", RuntimeWarning)
                margins[norm] = max_margin(problem, norm)
        except (UndecidedError, NotSeparableError) as error:
            failures[norm] = str(error)
    return margins, failures


def _limit(
    problem: NTPProblem, separability: Separability, compatibility: Compatibility
) -> LimitProblem | None:
    both = separability.holds and compatibility.holds
    if both or problem.support.size > _MOST_PAIRS:
        return None
    try:
        return limit_problem(problem, verdict=separability)
    except UndecidedError:
        return None


def _outcome(problem: NTPProblem, limit: LimitProblem, entropy: float) -> str:
    separated, pairs = int(limit.separable.sum()), int((~problem.support).sum())
    return (
        f"training separates {separated} of {pairs} pairs of a context and a token outside its "
        f"support, and comes to a cross-entropy of {limit.infimum:.6g} nats, "
        f"{max(limit.infimum - entropy, 0.0):.3g} above the entropy"
    )


def _unsolved(solution: MaxMargin) -> str:
    return ": not converged" if solution.gap > _WIDE else ""


def _verdict(condition: str, found: Compatibility | Separability) -> str:
    word = {True: condition, False: f"not {condition}", None: f"{condition}: undecided"}
    line = f"{word[found.holds]}: {found.reason.removeprefix('undecided: ')}"
    if found.certificate is None or found.verification is None:
        return line
    numbers = ", ".join(f"{name} {value:.2g}" for name, value in found.verification.numbers.items())
    return f"{line} [{type(found.certificate).__name__} verified: {numbers}]"
