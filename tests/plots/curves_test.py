import numpy as np
import pytest
from matplotlib import colors

from el_jax.plots import Curve, new_figure, plot_curve, plot_median

STEPS = np.array([0, 10, 20])
VALUES = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 7.0], [2.0, 5.0, 2.0]])
CURVE, ONE = Curve(STEPS, VALUES), Curve(STEPS, VALUES[:1])


@pytest.fixture
def ax():
    return new_figure()[1][0, 0]


@pytest.mark.parametrize(("num_sems", "length"), [(2.0, 2), (lambda num: 10.0 * num, 30)])
def test_line_is_the_mean_and_band_some_standard_errors(ax, num_sems, length):
    plot_curve(ax, CURVE, colour="red", num_sems=num_sems)
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_xdata(), STEPS)
    np.testing.assert_allclose(line.get_ydata(), VALUES.mean(axis=0))
    (band,) = ax.collections
    half_width = length * VALUES.std(axis=0, ddof=1) / np.sqrt(3)
    vertices = band.get_paths()[0].vertices
    for step, mean, half in zip(STEPS, VALUES.mean(axis=0), half_width, strict=True):
        heights = vertices[vertices[:, 0] == step, 1]
        np.testing.assert_allclose([heights.min(), heights.max()], [mean - half, mean + half])
    assert colors.same_color(band.get_facecolor()[0][:3], "red")


def test_a_median_is_drawn_with_every_seed(ax):
    plot_median(ax, CURVE, colour="red", label="E1")
    median, *seeds = ax.lines
    np.testing.assert_array_equal(median.get_ydata(), [2.0, 2.0, 3.0])
    np.testing.assert_array_equal([line.get_ydata() for line in seeds], VALUES)
    assert ax.get_legend_handles_labels()[1] == ["E1"]


def test_a_median_is_drawn_in_the_middle_of_the_seeds(ax):
    plot_median(ax, CURVE, colour="red", middle=0.5)
    vertices = ax.collections[0].get_paths()[0].vertices
    last = vertices[vertices[:, 0] == 20, 1]
    np.testing.assert_allclose([last.min(), last.max()], [2.5, 5.0])  # quartiles of 2, 3 and 7


def test_one_seed_has_a_line_and_no_band(ax):
    plot_curve(ax, ONE, colour="red")
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), VALUES[0])
    assert len(ax.collections) == 0


def test_the_band_of_a_share_stops_at_its_ends(ax):
    shares = Curve(STEPS, np.array([[0.0, 0.5, 1.0], [0.0, 0.5, 1.0], [0.3, 0.5, 0.7]]))
    plot_curve(ax, shares, colour="red", num_sems=4.0, ends=(0.0, 1.0))
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0.0, 1.0)
