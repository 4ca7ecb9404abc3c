"""The curvature of a checkpoint as lines and rows, and its differences to another checkpoint."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from el_jax.curvature import SampledEstimate, paired_difference
from el_jax.types import Estimate

NAMES = {
    "fisher_trace": "trace of Fisher, Tr F",
    "hessian_trace": "trace of Hessian, Tr H",
    "scale_free_trace": "Σ ‖W‖² Tr F over leaves",
    "weight_norm": "length of all parameters",
}
Row = tuple[str, float, float, float, float]  # metric, value, sem, context_sem, probe_sem


class Curvature(NamedTuple):
    """The curvature of one checkpoint.

    Attributes:
        numbers: metric -> value and standard error (both of its parts, for means over contexts);
            the residual for an eigenvalue, and NaN if there is no error.
        groups: group -> trace of its block of the Fisher matrix; empty if not requested.
        density: eigenvalues, and the density of all eigenvalues there, ``[2, points]``; None if not
            requested.
    """

    numbers: dict[str, Estimate | SampledEstimate]
    groups: dict[str, SampledEstimate]
    density: Float[np.ndarray, "2 points"] | None

    def lines(self, words: str = "the contexts") -> list[str]:
        """The numbers, one per line, for a terminal.

        Args:
            words: name of the contexts.
        """
        numbers = self.numbers
        lines = [
            _line(f"cross-entropy of {words}, nats", numbers["ce"]),
            *self._of_new_words(),
        ]
        lines += [_line(NAMES[name], numbers[name]) for name in NAMES]
        lines += [f"    Tr F of {name:18s} {_shown(trace)}" for name, trace in self.groups.items()]
        largest = [v for name, v in numbers.items() if name.startswith("eigenvalue_")]
        if not largest:
            return lines
        ends = ", ".join(f"{float(value.mean):.4g}" for value in largest)
        worst = max(float(value.sem) for value in largest)
        return [
            *lines,
            f"  {'largest eigenvalues':28s} {ends} (residuals at most {worst:.1g})",
            _line("least eigenvalue", numbers["least_eigenvalue"]),
        ]

    def rows(self) -> list[Row]:
        """Metric, value and standard errors of every number, for a table."""
        groups = {f"fisher_trace, {group}": trace for group, trace in self.groups.items()}
        return [_row(name, value) for name, value in {**self.numbers, **groups}.items()]

    def since(self, before: "Curvature") -> dict[str, SampledEstimate]:
        """Paired differences of the means over contexts from an earlier checkpoint.

        Args:
            before: the earlier checkpoint, on the same contexts and draws.

        Returns:
            metric -> this minus the earlier one, with errors of the paired differences.
        """
        found = {}
        for name, value in self.numbers.items():
            earlier = before.numbers[name]
            if isinstance(value, SampledEstimate) and isinstance(earlier, SampledEstimate):
                found[name] = paired_difference(earlier, value)
        return found

    def traces(self) -> dict[str, Estimate | SampledEstimate]:
        """The total traces and the groups' traces, for a figure."""
        whole = {"Tr H": self.numbers["hessian_trace"], "Tr F": self.numbers["fisher_trace"]}
        return {**whole, **{f"Tr F, {group}": trace for group, trace in self.groups.items()}}

    def headline(self) -> str:
        """Trace and largest eigenvalue of the Hessian."""
        trace = f"Tr H {_shown(self.numbers['hessian_trace'], parts=False)}"
        if "eigenvalue_1" not in self.numbers:
            return trace
        return f"{trace}, largest eigenvalue {float(self.numbers['eigenvalue_1'].mean):.3g}"

    def _of_new_words(self) -> list[str]:
        """The loss on test sentences as its two parts, if the truth is known."""
        if "kl" not in self.numbers:
            return []
        loss, entropy = (float(self.numbers[name].mean) for name in ("expected_ce", "entropy"))
        parts = f"KL {_shown(self.numbers['kl'])} + entropy {entropy:.4g}"
        return [f"  {'cross-entropy of test, nats':28s} {loss:.4g} = {parts}"]


def change_lines(changes: dict[str, SampledEstimate], step: int | None) -> list[str]:
    """Differences from :meth:`Curvature.since` to the checkpoint of a step, for a terminal."""
    named = {"ce": "cross-entropy, nats", **NAMES}
    lines = [_line(named[name], value, sign="+") for name, value in changes.items()]
    return [f"  since step {step}, paired over contexts and draws:", *(f"  {at}" for at in lines)]


def change_rows(changes: dict[str, SampledEstimate], step: int | None) -> list[Row]:
    """The same differences as rows, for a table."""
    return [_row(f"{name}, since step {step}", value) for name, value in changes.items()]


def _row(name: str, value: Estimate | SampledEstimate) -> Row:
    parts = (value.context_sem, value.probe_sem) if isinstance(value, SampledEstimate) else ()
    context_sem, probe_sem = map(float, parts or (np.nan, np.nan))
    return name, float(value.mean), float(value.sem), context_sem, probe_sem


def _line(name: str, value: Estimate | SampledEstimate, sign: str = "") -> str:
    return f"  {name:28s} {_shown(value, sign)}"


def _shown(value: Estimate | SampledEstimate, sign: str = "", *, parts: bool = True) -> str:
    """The value with its error, and the two parts of the error if draws contribute."""
    number, error = f"{float(value.mean):{sign}.4g}", float(value.sem)
    if np.isnan(error):
        return number
    drawn = float(value.probe_sem) if isinstance(value, SampledEstimate) else 0.0
    if not (parts and drawn and isinstance(value, SampledEstimate)):
        return f"{number} ± {error:.2g}"
    of_contexts = float(value.context_sem)
    return f"{number} ± {error:.2g} (contexts {of_contexts:.2g}, draws {drawn:.2g})"
