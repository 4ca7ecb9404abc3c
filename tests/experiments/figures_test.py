"""The intervals and curves that figures share, and names made of factors."""

import numpy as np
import pytest
import scipy.stats

from experiments.harness.figures import curve_of, t_sems
from experiments.harness.names import name_of
from experiments.harness.statistics import t_interval
from experiments.harness.tables import tidy

A = {"name": "a"}


def test_bars_are_as_long_as_the_intervals_of_verdicts():
    values = np.array([1.0, 2.0, 6.0])
    interval = t_interval(values)
    assert interval.high - interval.mean == pytest.approx(t_sems(3) * scipy.stats.sem(values))
    assert t_sems(1) == 0


def test_a_curve_needs_the_same_steps_of_every_seed():
    curves = tidy(
        {"name": "a", "seed": seed, "step": step, "metric": "x", "value": seed + step}
        for seed in (0, 1)
        for step in (1, 2)
    )
    found = curve_of(curves, A, "x")
    np.testing.assert_array_equal(found.steps, [1, 2])
    np.testing.assert_array_equal(found.values, [[1, 2], [2, 3]])
    with pytest.raises(ValueError, match="different steps, or none"):
        curve_of(curves[:3], A, "x")


@pytest.mark.parametrize(
    ("factors", "name"),
    [
        ({"loss": "cross_entropy", "warmup_steps": 0}, "cross-entropy"),
        ({"loss": "e1", "lam": 2.0, "warmup_steps": 50}, "E1 λ=2, warm-up"),
        ({"loss": "e2", "lam": 0.5, "warmup_steps": 0, "vocab": 500}, "E2 λ=0.5, vocab 500"),
        ({"optimizer": "sign_descent", "norm": "max"}, "sign_descent, max"),
    ],
)
def test_settings_are_named_by_loss_numbers_and_warm_up(factors, name):
    assert name_of(factors) == name
