"""The intervals, means and curves that figures share, and names made of factors."""

import io

import numpy as np
import pytest
import scipy.stats
from rich.console import Console

from el_jax.plots import new_figure
from experiments.harness.figures import (
    Line,
    count_fitted,
    curve_of,
    draw_against,
    draw_dots,
    lines_in,
    stated,
    t_sems,
)
from experiments.harness.names import name_of
from experiments.harness.report import print_results
from experiments.harness.statistics import t_interval
from experiments.harness.tables import tidy
from tests.experiments.toys import table_of

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


RESULTS = table_of(
    (
        {"loss": loss, "warmup_steps": steps},
        "train_hard_accuracy",
        [share, share + 0.02],
    )
    for loss, steps, share in (("e1", 0, 0.98), ("e1", 500, 0.5))
)
E1, E2 = (Line(loss.upper(), {"loss": loss}, "blue") for loss in ("e1", "e2"))


def test_a_line_that_is_not_measured_is_left_out():
    _, ((ax, other),) = new_figure(1, 2)
    cold = Line("cold", {"loss": "e1", "warmup_steps": 0}, "black")
    draw_dots(ax, RESULTS, "train_hard_accuracy", [E2, cold])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["cold"]
    draw_against(other, RESULTS, "train_hard_accuracy", [E2, E1], "warmup_steps")
    assert other.get_legend_handles_labels()[1] == ["E1"]


def test_settings_of_a_table_are_lines_and_those_with_warm_up_are_filled():
    lines = lines_in(RESULTS, [{"loss": "e1"}])
    assert [(line.label, line.filled) for line in lines] == [("E1", False), ("E1, warm-up", True)]


def test_titles_state_the_mean_of_one_setting_and_the_runs_that_fit():
    warm = {"warmup_steps": 500}
    assert stated(RESULTS, warm, "train_hard_accuracy", 3) == ".510"
    assert count_fitted(RESULTS) == "1 of 4"
    with pytest.raises(ValueError, match="say which warmup_steps"):
        stated(RESULTS, {}, "train_hard_accuracy")


def test_a_run_without_a_number_is_not_left_out_in_silence():
    results = table_of(({"name": n}, n, [0.1, np.nan, 0.3]) for n in ("a", "b", "c"))
    assert stated(results, A, "a") == "nan"  # as the figure has no mean
    for shown, found in ((results, "2 of 3"), (results[:3], "0.200 ± 0.100 (2 of 3)")):
        print_results(Console(file=(page := io.StringIO()), width=120), "", shown)
        assert found in page.getvalue()


@pytest.mark.parametrize(
    ("factors", "name"),
    [
        ({"loss": "cross_entropy", "warmup_steps": 0}, "cross-entropy"),
        ({"loss": "e1", "lam": 2.0, "warmup_steps": 50}, "E1 λ=2, warm-up"),
        ({"loss": "e2", "lam": 0.5, "warmup_steps": 0, "vocab": 500}, "E2 λ=0.5, vocab 500"),
        ({"optimizer": "sign_descent", "norm": "max"}, "sign_descent, max"),
        ({"loss": ("e1", "e2"), "lam": 2.0}, "E1 λ=2 or E2 λ=2"),
        ({"width": (8, None), "warmup_steps": 50}, "width 8, warm-up or warm-up"),
    ],
)
def test_settings_are_named_by_loss_numbers_and_warm_up(factors, name):
    assert name_of(factors) == name
