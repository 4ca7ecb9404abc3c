"""The conditioning of embeddings: rank, condition, and contexts that can hardly be told apart.

Nearly equal embeddings and a mean much larger than the spread around it give large condition
numbers. Iterations then take long, and digits are lost.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.spatial.distance import cdist

from el_jax.linear_ntp.problems.problem import column_lengths

_EQUAL, _NEAR = 1e-9, 1e-3  # distance over the length of the longer of the two


@dataclass(frozen=True)
class Conditioning:
    """Numbers that show how hard embeddings are for float64.

    Attributes:
        dim: d.
        num_contexts: m.
        rank: rank of the embeddings, each scaled to length 1.
        condition: their largest singular value over the least nonzero one.
        colliding: contexts that share their embedding with another, within 1e-9 of its length.
        near_colliding: further contexts that do so within 1e-3.
    """

    dim: int
    num_contexts: int
    rank: int
    condition: float
    colliding: int
    near_colliding: int

    def describe(self) -> str:
        """The same in words."""
        line = (
            f"embeddings of rank {self.rank} (d/m = {self.dim / self.num_contexts:.3g}), condition "
            f"number {self.condition:.2g} at length 1"
        )
        if self.colliding == self.near_colliding == 0:
            return f"{line}; no two of them are equal or nearly so (within 0.1 %)"
        return (
            f"{line}; equal to another: {self.colliding}, nearly (within 0.1 %): "
            f"{self.near_colliding} of {self.num_contexts}"
        )


def conditioning(embeddings: Float64[np.ndarray, "d m"]) -> Conditioning:
    """Rank, condition and collisions of H."""
    lengths = column_lengths(embeddings)
    unit = embeddings / np.where(lengths > 0, lengths, 1.0)
    spectrum = np.linalg.svd(unit, compute_uv=False)
    kept = spectrum[spectrum > np.finfo(float).eps * max(unit.shape) * spectrum[0]]
    longer = np.maximum.outer(lengths, lengths)
    scale = lengths.max() if lengths.max() > 0 else 1.0
    apart = cdist(embeddings.T / scale, embeddings.T / scale) * scale
    np.fill_diagonal(apart, np.inf)
    equal, near = ((apart <= share * longer).any(axis=0) for share in (_EQUAL, _NEAR))
    return Conditioning(
        dim=embeddings.shape[0],
        num_contexts=embeddings.shape[1],
        rank=len(kept),
        condition=float(kept[0] / kept[-1]) if len(kept) else 1.0,
        colliding=int(equal.sum()),
        near_colliding=int((near & ~equal).sum()),
    )
