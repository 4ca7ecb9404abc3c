"""Figures draw the measured numbers, and theory only where it applies."""

import numpy as np

from el_jax.plots import THEORY_COLOUR, new_figure, plot_geometry, plot_trajectory

H = np.array([[1.0, -1.0], [0.0, 2.0]])
W = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
STEPS = np.array([0, 1, 10, 100])
METRICS = {
    name: np.array([9.0, 4.0, 2.0, 1.0]) * scale
    for scale, name in enumerate(
        ("excess_loss", "leak_loss", "in_support_loss", "norm", "norm_across", "norm_along"), 1
    )
} | {"finite_error": np.array([3.0, 2.0, 1.0, 0.5]), "margin_frobenius": np.full(4, 0.2)}


def theory_lines(figure):
    return [
        line.get_label()
        for ax in figure.axes
        for line in ax.lines
        if line.get_color() == THEORY_COLOUR
    ]


def test_contexts_are_circles_and_equal_words_share_a_star():
    ax = new_figure()[1][0, 0]
    plot_geometry(ax, H, W)
    circles = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"]
    stars = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "*"]
    np.testing.assert_array_equal(circles, H.T)
    np.testing.assert_array_equal(stars, W[:2])
    names = {text.get_text() for text in ax.texts}
    assert {"$h_1$", "$h_2$", "1 = 3", "2"} <= names


def test_the_loss_is_drawn_without_its_mark_at_0_and_theory_with_the_margin():
    figure = plot_trajectory(STEPS, METRICS, question="Where?", margin=0.5, step_size=2.0)
    loss = figure.axes[0]
    np.testing.assert_array_equal(loss.lines[0].get_xdata(), [1, 10, 100])
    np.testing.assert_array_equal(loss.lines[0].get_ydata(), METRICS["excess_loss"][1:])
    predicted = next(line for line in loss.lines if line.get_color() == THEORY_COLOUR)
    np.testing.assert_allclose(predicted.get_ydata(), 4 / (2.0 * STEPS[1:]))
    assert len(theory_lines(figure)) == 3


def test_without_a_margin_only_the_slope_of_the_finite_part_is_predicted():
    figure = plot_trajectory(STEPS, METRICS, question="Where?", step_size=2.0)
    assert theory_lines(figure) == ["slope −1"]
    assert figure.axes[2].lines[0].get_label() == "normalised margin of P⊥W"


def test_nothing_is_predicted_of_other_methods_than_gradient_descent():
    figure = plot_trajectory(STEPS, METRICS, question="Where?", margin=0.5)
    assert theory_lines(figure) == []


def test_names_lie_on_no_line_no_point_and_no_other_name():
    """Three words are nearly aligned with contexts, so names placed outward would collide."""
    contexts = np.array([[0.0, -0.87, 0.87], [1.0, -0.5, -0.5]])
    words = np.array([[-0.4, 0.5], [0.6, -0.2], [0.7, -0.4], [-0.1, 1.4], [-0.8, -1.3]])
    figure, axes = new_figure(size=(2.6, 2.6))
    ax = axes[0, 0]
    plot_geometry(ax, contexts, words)
    figure.draw_without_rendering()
    assert len(ax.texts) == 8
    boxes = [text.get_window_extent() for text in ax.texts]
    lines = [line.get_xydata() for line in ax.lines if len(line.get_xydata()) == 2][2:]  # no axes
    assert len(lines) == 8
    for line in lines:
        samples = ax.transData.transform(np.linspace(*line, 200))
        assert not any(box.contains(*sample) for box in boxes for sample in samples)
    assert not any(one.overlaps(two) for i, one in enumerate(boxes) for two in boxes[:i])


def test_directions_are_distances_from_the_reference():
    cosines = {"cosine_frobenius": np.array([0.0, 0.5, 0.9, 0.99])}
    figure = plot_trajectory(STEPS, METRICS | cosines, question="Where?")
    np.testing.assert_allclose(figure.axes[2].lines[0].get_ydata(), [0.5, 0.1, 0.01])
    for norm in ("max", "spectral", "nuclear"):
        cosines[f"cosine_{norm}"] = cosines["cosine_frobenius"]
    figure = plot_trajectory(STEPS, METRICS | cosines, question="Where?")
    assert len({line.get_linewidth() for line in figure.axes[2].lines}) == 4
