"""The least dimension in which random problems are compatible, and separable."""

import dataclasses
import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from el_jax.linear_ntp import random_problem
from el_jax.linear_ntp.solvers.conditions import check_compatibility, check_separability
from experiments.harness.seeds import Measured, run_seeds
from experiments.harness.tables import factors_of, select
from experiments.ntp_phase.least_dimension import LeastDimension


@dataclasses.dataclass(frozen=True)
class Ensemble:
    """Random problems of one size: m contexts, V tokens, S of them after each context."""

    num_contexts: int
    vocab_size: int
    support_size: int

    @property
    def counting_bound(self) -> int:
        """The least d with as many unknowns d (V - 1) as compatibility's equations m (S - 1)."""
        return math.ceil(self.num_contexts * (self.support_size - 1) / (self.vocab_size - 1))

    @property
    def cover_count(self) -> float:
        """The d at which the unknowns left by (6a) are half as many as the inequalities (6b)."""
        m, V, S = self.num_contexts, self.vocab_size, self.support_size
        return m * (V + S - 2) / (2 * (V - 1))


WORST = {"both_at_m": "min", "compatible_above_count": "min", "undecided_share": "max"}
SIZES = ((6, 2), (10, 3), (10, 6))
NUM_CONTEXTS = {"smoke": (8,), "cpu": (24, 48)}
SEEDS = {"smoke": 3, "cpu": 60}


def ensembles(scale: str) -> list[Ensemble]:
    """The ensembles of a scale."""
    return [Ensemble(m, V, S) for m in NUM_CONTEXTS[scale] for V, S in SIZES]


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """One problem of every ensemble."""
    for ensemble in ensembles(scale):
        yield from _least_dimensions(ensemble, seed)


def _least_dimensions(ensemble: Ensemble, seed: int) -> list[Measured]:
    m = ensemble.num_contexts
    problem = random_problem(m, m, ensemble.vocab_size, ensemble.support_size, seed=seed)
    searches = {
        "compatible": LeastDimension(problem, lambda p: check_compatibility(p).holds),
        "separable": LeastDimension(problem, lambda p: check_separability(p).holds),
    }
    least = {condition: search.find() for condition, search in searches.items()}
    looked = sum(len(search.verdicts) for search in searches.values())
    at_m = all(search.verdicts[m] is True for search in searches.values())
    numbers = {
        **{f"{condition}_from": dim / m for condition, dim in least.items()},
        "compatible_above_count": least["compatible"] - ensemble.counting_bound,
        "separable_above_cover_count": (least["separable"] - ensemble.cover_count) / m,
        "both_at_m": float(at_m),
        "undecided_share": sum(search.undecided for search in searches.values()) / looked,
    }
    # 1 in the dimensions where a condition holds, 0 below; nothing where one is undecided
    dims = np.arange(1, m + 1)
    curves = {
        condition: (dims >= dim).astype(float)
        for condition, dim in least.items()
        if not math.isnan(dim)
    }
    return [Measured(vars(ensemble), numbers, dims, curves)]


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Each problem's distance from the median transition, and the worst values over all sizes."""
    transition = select(results, {}, "separable_from")
    # an undecided problem leaves no median: NumPy's is NaN, while pandas would skip the problem
    by_size = transition.groupby(factors_of(results))["value"]
    distance = (transition["value"] - by_size.transform(lambda values: np.median(values))).abs()
    parts = [transition.assign(metric="separable_spread", value=distance)]
    for metric, worst in WORST.items():
        by_seed = select(results, {}, metric).groupby("seed")["value"].agg(worst)
        parts.append(by_seed.reset_index().assign(metric=metric))
    return pd.concat(parts)


run = partial(run_seeds, num_seeds=SEEDS, measure=measure, summary=summary)
