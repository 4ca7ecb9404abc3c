"""Curves of one training."""

import numpy as np

from el_jax.plots import plot_training

COURSE = (np.array([0, 10]), np.array([[0.2, 0.3], [0.8, np.nan]]))


def test_a_panel_for_each_kind_of_number_and_a_line_where_a_guess_is():
    panels = {"loss": {"loss": COURSE}, "accuracy": {"easy": COURSE, "hard": COURSE}}
    loss, accuracy = plot_training(panels, "title", {"accuracy": 0.25}).axes
    # a mean and two runs of each name
    assert [len(ax.lines) for ax in (loss, accuracy)] == [3, 7]
    (line,) = (line for line in accuracy.lines if line.get_gid() == "chance")
    assert set(line.get_ydata()) == {0.25}
    np.testing.assert_allclose(loss.lines[0].get_ydata(), [0.25, 0.8])


def test_every_sweep_point_has_a_row_of_its_own():
    points = {"margin=1": [0], "margin=2": [1]}
    first, second = plot_training({"loss": {"loss": COURSE}}, "title", {}, points).axes
    np.testing.assert_allclose(first.lines[0].get_ydata(), [0.2, 0.8])
    np.testing.assert_allclose(second.lines[0].get_ydata(), [0.3])
    assert [ax.get_title("left") for ax in (first, second)] == list(points)
    assert [ax.lines[0].get_marker() for ax in (first, second)] == ["None", "o"]  # one point alone
