"""The words and intervals that figures share."""

import numpy as np
import pytest
import scipy.stats

from experiments.harness.figures import count, decimal, in_words, mean_of, t_note, t_sems
from experiments.harness.statistics import t_interval
from tests.experiments.toys import results_of

RESULTS = results_of({("a", "x"): np.array([1.0, 2.0, 6.0]), ("b", "x"): np.array([1.0])})


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.483, ".48"), (-0.05, "−.05"), (1.0, "1.00"), (10.5, "10.50"), (0.0, ".00")],
)
def test_decimals_have_no_leading_zero(value, text):
    assert decimal(value) == text


def test_a_sign_and_more_digits_are_written_on_request():
    assert decimal(0.0384, 3, signed=True) == "+.038"
    assert decimal(-0.0384, 3, signed=True) == "−.038"


def test_bars_are_as_long_as_the_intervals_of_verdicts():
    values = np.array([1.0, 2.0, 6.0])
    interval = t_interval(values)
    assert interval.high - interval.mean == pytest.approx(t_sems(3) * scipy.stats.sem(values))
    assert t_sems(1) == 0


def test_notes_count_what_a_seed_stands_for():
    assert t_note(RESULTS) == "95 % t interval over 1–3 seeds"
    assert count(RESULTS[RESULTS["setting"] == "a"], "problems") == "3 problems"
    assert count(RESULTS[RESULTS["setting"] == "b"], "passages") == "1 passage"


def test_means_and_lists():
    assert mean_of(RESULTS, "a", "x") == 3
    assert np.isnan(mean_of(RESULTS, "a", "y"))
    assert [in_words("abc"[:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
