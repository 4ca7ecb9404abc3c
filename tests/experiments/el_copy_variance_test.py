"""The analysis of variance against a library and a simulation; claims, names and the figure."""

import numpy as np
import pytest
import scipy.stats

from experiments.el_copy_variance.claims import CLAIMS, HARD, SETTINGS
from experiments.el_copy_variance.parts import parts
from experiments.el_copy_variance.run import SEEDS_PER_DATA
from experiments.harness.judging import Verdict, judged
from tests.experiments.toys import table_of

N, CE = SEEDS_PER_DATA, SETTINGS[0]


def drawn(between, within, num=8, seed=0):
    rng = np.random.default_rng(seed)
    groups = 0.5 + between * rng.normal(size=(num, 1)) + within * rng.normal(size=(num, N))
    return table_of((where, HARD, groups.ravel()) for where in SETTINGS), groups


def test_the_ratio_is_that_of_the_library():
    results, groups = drawn(0.2, 0.1)
    found = parts(results, CE, HARD)
    ratio, p = scipy.stats.f_oneway(*groups)
    assert found.share == pytest.approx((ratio - 1) / (ratio + N - 1))
    assert found.p == pytest.approx(2 * p)
    pooled = np.sqrt(groups.var(axis=1, ddof=1).mean())
    assert found.within == pytest.approx(pooled)
    assert found.between == pytest.approx(np.sqrt(groups.mean(1).var(ddof=1) - pooled**2 / N))


def test_what_cannot_be_split_is_not_measured():
    assert parts(drawn(0.1, 0.1, num=1)[0], CE, HARD) is None
    constant = table_of([(where, HARD, np.ones(2 * N)) for where in SETTINGS])
    assert parts(constant, CE, HARD) is None
    assert all(o.verdict is Verdict.NOT_MEASURED for _, o in judged(CLAIMS, constant))
