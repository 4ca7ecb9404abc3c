"""The words and intervals that figures share, and names made of factors."""

import numpy as np
import pytest
import scipy.stats

from experiments.harness.figures import count, curve_of, in_words, mean_of, t_note, t_sems
from experiments.harness.names import name_of, shared_factors
from experiments.harness.statistics import t_interval
from experiments.harness.tables import tidy
from tests.experiments.toys import results_of

A, B = {"name": "a"}, {"name": "b"}
RESULTS = results_of({("a", "x"): [1.0, 2.0, 6.0], ("b", "x"): [1.0]})


def test_bars_are_as_long_as_the_intervals_of_verdicts():
    values = np.array([1.0, 2.0, 6.0])
    interval = t_interval(values)
    assert interval.high - interval.mean == pytest.approx(t_sems(3) * scipy.stats.sem(values))
    assert t_sems(1) == 0


def test_notes_count_what_a_seed_stands_for():
    assert t_note(RESULTS) == "95 % t interval over 1–3 seeds"
    assert count(RESULTS[RESULTS["name"] == "a"], "problems") == "3 problems"
    assert count(RESULTS[RESULTS["name"] == "b"], "passages") == "1 passage"


def test_means_and_lists():
    assert mean_of(RESULTS, A, "x") == 3
    assert np.isnan(mean_of(RESULTS, A, "y"))
    assert [in_words("abc"[:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]


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


def test_what_all_settings_share_need_not_be_said_of_each():
    settings = [
        {"loss": "e1", "peak_lr": 0.1, "warmup_steps": 0, "lam": 1.0, "width": 8},
        {"loss": "e1", "peak_lr": 0.1, "warmup_steps": 0, "lam": 2.0},
    ]
    assert shared_factors(settings) == {"peak_lr": 0.1}
    assert shared_factors(settings[:1]) == {}
