"""The analysis of variance against a library and a simulation; claims, names and the figure."""

import numpy as np
import pytest
import scipy.stats

from experiments.el_copy_variance import claims, settings
from experiments.el_copy_variance.parts import parts
from tests.experiments.toys import results_of

N = settings.SEEDS_PER_DATA


def drawn(between, within, num=8, seed=0):
    rng = np.random.default_rng(seed)
    groups = 0.5 + between * rng.normal(size=(num, 1)) + within * rng.normal(size=(num, N))
    return results_of({(s, settings.HARD): groups.ravel() for s in settings.SETTINGS}), groups


def test_the_ratio_is_that_of_the_library():
    results, groups = drawn(0.2, 0.1)
    found = parts(results, settings.CE, settings.HARD)
    ratio, p = scipy.stats.f_oneway(*groups)
    assert found.share == pytest.approx((ratio - 1) / (ratio + N - 1))
    assert found.p == pytest.approx(2 * p)
    pooled = np.sqrt(groups.var(axis=1, ddof=1).mean())
    assert found.within == pytest.approx(pooled)
    assert found.between == pytest.approx(np.sqrt(groups.mean(1).var(ddof=1) - pooled**2 / N))


def test_what_cannot_be_split_is_not_measured():
    assert parts(drawn(0.1, 0.1, num=1)[0], settings.CE, settings.HARD) is None
    constant = results_of({(settings.CE, settings.HARD): np.ones(2 * N)})
    assert parts(constant, settings.CE, settings.HARD) is None
    assert all(c.detail.startswith("not measured") for c in claims.claims(constant))
