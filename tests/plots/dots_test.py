import numpy as np
import pytest

from el_jax.plots import SeedValues, new_figure, plot_lines_vs, plot_seed_dots

TABLE = {
    ("cross-entropy", "accuracy"): SeedValues((0, 1, 2), np.array([0.1, 0.2, 0.6])),
    ("E1 λ=1, warm-up", "accuracy"): SeedValues((0, 1), np.array([0.9, 1.0])),
    ("E3 b=1", "accuracy"): SeedValues((7,), np.array([0.5])),
}
SETTINGS = ["cross-entropy", "E1 λ=1, warm-up", "E3 b=1"]
MEANS = [0.3, 0.95, 0.5]
SEMS = [np.sqrt((0.04 + 0.01 + 0.09) / 2 / 3), 0.05, 0.0]


@pytest.fixture
def ax():
    return new_figure()[1][0, 0]


def bar_ends(container, axis):
    """Lower and upper end of an error bar along an axis; None when it has no bar."""
    _, _, bars = container.lines
    return [segment[:, axis] for bar in bars for segment in bar.get_segments()]


def test_every_seed_is_a_dot_in_its_settings_row(ax):
    plot_seed_dots(ax, TABLE, "accuracy", SETTINGS)
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    for row, (setting, line) in enumerate(zip(SETTINGS, dots, strict=True)):
        np.testing.assert_array_equal(line.get_xdata(), TABLE[setting, "accuracy"].values)
        assert len(set(line.get_ydata())) == len(line.get_xdata())
        assert np.all(np.round(line.get_ydata()) == row)
    assert [label.get_text() for label in ax.get_yticklabels()] == SETTINGS
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first setting is on top


def test_bars_are_the_mean_and_two_standard_errors(ax):
    plot_seed_dots(ax, TABLE, "accuracy", SETTINGS)
    for container, mean, sem in zip(ax.containers[:2], MEANS, SEMS, strict=False):
        np.testing.assert_allclose(container.lines[0].get_xdata(), mean)
        np.testing.assert_allclose(bar_ends(container, 0), [[mean - 2 * sem, mean + 2 * sem]])
    assert not bar_ends(ax.containers[2], 0)


def test_bars_may_depend_on_the_number_of_seeds(ax):
    plot_seed_dots(ax, TABLE, "accuracy", SETTINGS, num_sems=lambda num_seeds: float(num_seeds))
    for container, mean, sem, num in zip(ax.containers[:2], MEANS, SEMS, (3, 2), strict=False):
        np.testing.assert_allclose(bar_ends(container, 0), [[mean - num * sem, mean + num * sem]])


def test_the_chance_line_is_drawn_when_given(ax):
    plot_seed_dots(ax, TABLE, "accuracy", SETTINGS, chance=0.25)
    assert [line.get_xdata()[0] for line in ax.lines if line.get_gid() == "chance"] == [0.25]


def test_lines_vs_shows_means_bars_and_every_seed(ax):
    plot_lines_vs(ax, [55, 110, 440], TABLE, "accuracy", SETTINGS, label="hard")
    (container,) = ax.containers
    np.testing.assert_array_equal(container.lines[0].get_xdata(), [55, 110, 440])
    np.testing.assert_allclose(container.lines[0].get_ydata(), MEANS)
    for ends, mean, sem in zip(bar_ends(container, 1), MEANS, SEMS, strict=True):
        np.testing.assert_allclose(ends, [mean - 2 * sem, mean + 2 * sem])
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    for setting, line in zip(SETTINGS, dots, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), TABLE[setting, "accuracy"].values)
    assert ax.get_legend_handles_labels()[1] == ["hard"]


def test_lines_vs_needs_a_position_for_each_setting(ax):
    with pytest.raises(ValueError, match="2 numbers in x for 3 settings"):
        plot_lines_vs(ax, [1, 2], TABLE, "accuracy", SETTINGS, label="hard")
