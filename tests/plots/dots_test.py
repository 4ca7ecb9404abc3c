import numpy as np
import pytest

from el_jax.plots import Group, new_figure, plot_lines_vs, plot_seed_dots

VALUES = [np.array([0.1, 0.2, 0.6]), np.array([0.9, 1.0]), np.array([0.5])]
GROUPS = [
    Group(label, values, "black", filled)
    for label, values, filled in zip("abc", VALUES, [False, True, True], strict=True)
]
MEANS = [0.3, 0.95, 0.5]
SEMS = [np.sqrt((0.04 + 0.01 + 0.09) / 2 / 3), 0.05, 0.0]


@pytest.fixture
def ax():
    return new_figure()[1][0, 0]


def bar_ends(container, axis):
    """Lower and upper end of each error bar along an axis; empty if there is no bar."""
    _, _, bars = container.lines
    return [segment[:, axis] for bar in bars for segment in bar.get_segments()]


def dots_of(ax):
    return [line for line in ax.lines if line.get_marker() == "o"]


def test_every_seed_is_a_dot_in_the_row_of_its_group(ax):
    plot_seed_dots(ax, GROUPS)
    for row, (values, line) in enumerate(zip(VALUES, dots_of(ax), strict=True)):
        np.testing.assert_array_equal(line.get_xdata(), values)
        assert len(set(line.get_ydata())) == len(line.get_xdata())
        assert np.all(np.round(line.get_ydata()) == row)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first group is on top
    fills = [container.lines[0].get_markerfacecolor() for container in ax.containers]
    assert fills == ["white", "black", "black"]


@pytest.mark.parametrize(("num_sems", "lengths"), [(2.0, (2, 2)), (float, (3, 2))])
def test_bars_are_the_mean_and_standard_errors(ax, num_sems, lengths):
    plot_seed_dots(ax, GROUPS, num_sems=num_sems)
    for container, mean, sem, num in zip(ax.containers, MEANS, SEMS, lengths, strict=False):
        np.testing.assert_allclose(container.lines[0].get_xdata(orig=False), mean)
        np.testing.assert_allclose(bar_ends(container, 0), [[mean - num * sem, mean + num * sem]])
    assert not bar_ends(ax.containers[2], 0)


def test_bars_stop_at_the_ends_of_a_metric(ax):
    plot_seed_dots(ax, [Group("all but one", np.array([1.0, 1.0, 0.7]), "black")], ends=(0.0, 1.0))
    np.testing.assert_allclose(bar_ends(ax.containers[0], 0), [[0.7, 1.0]])
    plot_lines_vs(ax, [8], [np.array([0.0, 0.0, 0.3])], label="", colour="red", ends=(0.0, 1.0))
    np.testing.assert_allclose(bar_ends(ax.containers[1], 1), [[0.0, 0.3]])


def test_lines_vs_shows_means_bars_and_every_seed(ax):
    plot_lines_vs(ax, [55.0, 110.0, 440.0], VALUES, label="hard", colour="red")
    (container,) = ax.containers
    np.testing.assert_array_equal(container.lines[0].get_xdata(orig=False), [55, 110, 440])
    np.testing.assert_allclose(container.lines[0].get_ydata(orig=False), MEANS)
    for ends, mean, sem in zip(bar_ends(container, 1), MEANS, SEMS, strict=True):
        np.testing.assert_allclose(ends, [mean - 2 * sem, mean + 2 * sem])
    for values, line in zip(VALUES, dots_of(ax), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
    assert ax.get_legend_handles_labels()[1] == ["hard"]
