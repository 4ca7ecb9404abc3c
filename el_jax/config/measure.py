"""Turn the config of a curvature measurement into checked settings."""

import dataclasses
from typing import Any, Literal

from ml_collections import ConfigDict

from el_jax.config.sections import section, values_of
from el_jax.process.errors import require

_AT_LEAST = {
    "seed": 0,
    "contexts": 2,
    "num_labels": 2,
    "num_probes": 2,
    "num_eigenvalues": 0,
    "window": 2,
    "lanczos_steps": 1,
    "density_probes": 1,
}

_DRAWS = ("num_labels", "num_probes", "num_eigenvalues", "lanczos_steps", "density_probes")


@dataclasses.dataclass(frozen=True)
class MeasureSettings:
    """Checkpoints to measure, contexts to measure them on, and numbers of random draws.

    Attributes:
        seed: seed of labels, probes and starting vectors, the same for all checkpoints.
        split: "train", or a split of the training's ``eval`` section.
        text: the text for a published model: "king_james", another source of
            ``el_jax.tasks.documents``, or a .txt file.
        window: T, tokens of the text that a published model sees at once; the second half of them
            are contexts.
        out: the folder for the results; if empty the workdir, or the current folder for a published
            model.
        contexts: the largest number of tokens of split or text to use, evenly spread.
        steps: checkpoints; the newest if empty.
        runs: places in the training's list of runs; all if empty.
        groups: the groups whose traces are reported: "kind" of parameter, "layer", "module" (each
            matrix, norm and table), or "none".
        num_labels: labels drawn in each context, for the Fisher trace.
        num_probes: probes in each context, for the Hessian trace.
        num_eigenvalues: number of largest eigenvalues; 0 leaves out the spectrum, which takes the
            memory of ``lanczos_steps`` gradients.
        lanczos_steps: products with the Hessian for each end of the spectrum and each probe.
        density_probes: probes of the spectral density.
    """

    seed: int
    split: str
    text: str
    window: int
    out: str
    contexts: int
    steps: tuple[int, ...]
    runs: tuple[int, ...]
    groups: Literal["kind", "layer", "module", "none"]
    num_labels: int
    num_probes: int
    num_eigenvalues: int
    lanczos_steps: int
    density_probes: int

    def __post_init__(self) -> None:
        for name, least in _AT_LEAST.items():
            value = getattr(self, name)
            require(name, value, value >= least, f"at least {least}")
        most = self.lanczos_steps
        few = self.num_eigenvalues <= most
        require("num_eigenvalues", self.num_eigenvalues, few, f"at most lanczos_steps={most}")

    @property
    def draws(self) -> dict[str, Any]:
        """The options of :func:`el_jax.probes.measurement`."""
        return {name: getattr(self, name) for name in _DRAWS} | {
            "grouping": None if self.groups == "none" else self.groups
        }


def parse(config: ConfigDict) -> MeasureSettings:
    """Read and check a config."""
    return section("", values_of(config, "lanczos_steps"), MeasureSettings)
