"""The least dimension in which random problems are compatible, and separable."""

import dataclasses
import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from el_jax.checkpoints.manifest import config_hash
from el_jax.linear_ntp import random_problem
from el_jax.linear_ntp.conditions import check_compatibility, check_separability
from el_jax.runtime.compilation import use_compilation_cache
from experiments.least_dimension import LeastDimension
from experiments.results import CurveRow, ResultRow
from experiments.tables import write_tables

TITLE = "How many dimensions does linear next-token data need? (Thrampoulidis 2024, section 2)"


@dataclasses.dataclass(frozen=True)
class Ensemble:
    """Random problems of one size: m contexts, V tokens, S of them after each context."""

    num_contexts: int
    vocab_size: int
    support_size: int

    @property
    def name(self) -> str:
        """The name of the ensemble in tables."""
        return f"V={self.vocab_size}, S={self.support_size}, m={self.num_contexts}"

    @property
    def counting_bound(self) -> int:
        """Least d with as many unknowns d (V - 1) as compatibility has equations m (S - 1)."""
        return math.ceil(self.num_contexts * (self.support_size - 1) / (self.vocab_size - 1))

    @property
    def cover_count(self) -> float:
        """The d at which unknowns that (6a) leaves are half as many as the inequalities (6b)."""
        m, V, S = self.num_contexts, self.vocab_size, self.support_size
        return m * (V + S - 2) / (2 * (V - 1))


POOLED = "all sizes"
SIZES = ((6, 2), (10, 3), (10, 6))
NUM_CONTEXTS = {"smoke": (8,), "quick": (24,), "cpu": (24, 48), "paper": (24, 48, 96, 192)}
SEEDS = {"smoke": 3, "quick": 10, "cpu": 30, "paper": 100}


def ensembles(scale: str) -> list[Ensemble]:
    """The ensembles of a scale."""
    return [Ensemble(m, V, S) for m in NUM_CONTEXTS[scale] for V, S in SIZES]


def run(scale: str, out: Path) -> None:
    """Decide and write the tables."""
    use_compilation_cache()
    results: list[ResultRow] = []
    curves: list[CurveRow] = []
    seconds, hashes = {}, {}
    for ensemble in ensembles(scale):
        started = time.monotonic()
        rows: list[ResultRow] = []
        for seed in range(SEEDS[scale]):
            measured, marks = _measure(ensemble, seed)
            rows += measured
            curves += marks
        results += rows + _distances_from_median(rows)
        seconds[ensemble.name] = time.monotonic() - started
        hashes[ensemble.name] = config_hash(dataclasses.asdict(ensemble) | {"seeds": SEEDS[scale]})
        print(f"{ensemble.name}: {SEEDS[scale]} problems in {seconds[ensemble.name]:.0f} s")
    results += _pooled(results)
    write_tables(
        "ntp_phase", scale, out, results=results, curves=curves, config_hashes=hashes,
        wall_seconds=seconds,
    )  # fmt: skip


def _measure(ensemble: Ensemble, seed: int) -> tuple[list[ResultRow], list[CurveRow]]:
    m = ensemble.num_contexts
    problem = random_problem(m, m, ensemble.vocab_size, ensemble.support_size, seed=seed)
    searches = {
        "compatible": LeastDimension(problem, lambda p: check_compatibility(p).holds),
        "separable": LeastDimension(problem, lambda p: check_separability(p).holds),
    }
    least = {condition: search.find() for condition, search in searches.items()}
    looked = sum(len(search.verdicts) for search in searches.values())
    at_m = all(search.verdicts[m] is True for search in searches.values())
    metrics = {
        **{f"{condition}_from": dim / m for condition, dim in least.items()},
        "compatible_above_count": least["compatible"] - ensemble.counting_bound,
        "separable_above_cover_count": (least["separable"] - ensemble.cover_count) / m,
        "both_at_m": float(at_m),
        "undecided_share": sum(search.undecided for search in searches.values()) / looked,
    }
    rows = [ResultRow(ensemble.name, seed, name, value) for name, value in metrics.items()]
    return rows, list(_marks(ensemble, seed, least))


def _distances_from_median(rows: list[ResultRow]) -> list[ResultRow]:
    """Distance of each problem's transition from the median one, in d / m."""
    found = [row for row in rows if row.metric == "separable_from"]
    middle = float(np.median([row.value for row in found]))
    return [row._replace(metric="separable_spread", value=abs(row.value - middle)) for row in found]


def _pooled(rows: list[ResultRow]) -> list[ResultRow]:
    """Worst value over all sizes, for each seed, of metrics that should not depend on size."""
    worst = {"both_at_m": min, "compatible_above_count": min, "undecided_share": max}
    seeds = sorted({row.seed for row in rows})
    return [
        ResultRow(POOLED, seed, metric, pick(values))
        for metric, pick in worst.items()
        for seed in seeds
        if (values := [r.value for r in rows if (r.seed, r.metric) == (seed, metric)])
    ]


def _marks(ensemble: Ensemble, seed: int, least: dict[str, float]) -> Iterator[CurveRow]:
    """1 in the dimensions where a condition holds, 0 below; nothing where one is undecided."""
    for condition, dim in least.items():
        if not math.isnan(dim):
            for d in range(1, ensemble.num_contexts + 1):
                yield CurveRow(ensemble.name, seed, d, condition, float(d >= dim))
