"""The variance of runs in two parts: between data sets, and between networks on one of them."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.stats

from experiments.el_copy_variance.run import SEEDS_PER_DATA
from experiments.harness.statistics import CONFIDENCE
from experiments.harness.tables import Where, values_of


class Parts(NamedTuple):
    """A one-way analysis of variance with random data sets (Searle, Casella, McCulloch 1992).

    Attributes:
        share: of the variance of a run that is between data sets, from 0 to 1 in expectation.
        low: lower end of its interval, exact for normal values.
        high: upper end.
        p: two-sided, of the share being 0.
        between: standard deviation between data sets, 0 where the estimate is negative.
        within: standard deviation between networks on one data set.
        num_data_sets: number of data sets.
    """

    share: float
    low: float
    high: float
    p: float
    between: float
    within: float
    num_data_sets: int


def parts(results: pd.DataFrame, where: Where, metric: str) -> Parts | None:
    """Split the variance of a metric; None without two whole data sets, or where nothing varies."""
    values = values_of(results, where, metric)
    num = len(values) // SEEDS_PER_DATA
    if num < 2 or len(values) != num * SEEDS_PER_DATA or not np.isfinite(values).all():
        return None
    table = values.to_numpy().reshape(num, SEEDS_PER_DATA)
    n, of_data, of_networks = SEEDS_PER_DATA, num - 1, num * (SEEDS_PER_DATA - 1)
    means = table.mean(1)
    squares = n * np.square(means - means.mean()).sum() / of_data
    error = np.square(table - means[:, None]).sum() / of_networks
    if not error:
        return None
    ratio = squares / error
    law = scipy.stats.f(of_data, of_networks)
    ends = [ratio / law.ppf(q) for q in ((1 + CONFIDENCE) / 2, (1 - CONFIDENCE) / 2)]
    share, low, high = ((r - 1) / (r + n - 1) for r in (ratio, *ends))
    return Parts(
        share=share,
        low=low,
        high=high,
        p=2 * min(law.sf(ratio), law.cdf(ratio)),
        between=float(np.sqrt(max(squares - error, 0.0) / n)),
        within=float(np.sqrt(error)),
        num_data_sets=num,
    )
