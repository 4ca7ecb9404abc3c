"""The course of one training run: its loss, and the accuracy of every group of every split."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from types import MappingProxyType

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots.style import (
    COLOURS,
    LEGEND_FONT_SIZE,
    SPARE_COLOURS,
    add_chance_line,
    add_question,
    new_figure,
)

Course = tuple[Int[np.ndarray, "S"], Float[np.ndarray, "S R"]]


def plot_training(
    panels: Mapping[str, Mapping[str, Course]],
    title: str,
    chance: Mapping[str, float] = MappingProxyType({}),
    points: Mapping[str, Sequence[int]] = MappingProxyType({"": ()}),
) -> Figure:
    """Draw one panel for each kind of number and one colour for each name, over updates.

    Each sweep point has its own row of panels, since a mean over different settings describes none
    of them.

    Args:
        panels: axis label -> name -> the updates at which it was measured and its value for each
            run. Thick lines are means over the seeds that have a number, thin lines single seeds.
        title: the sentence above.
        chance: axis label -> value at chance level, drawn as a line in that panel.
        points: label of a sweep point -> indices of its runs; empty for all runs.
    """
    size = (4.4 * len(panels), 1.6 + 2.2 * len(points))
    figure, axes = new_figure(len(points), len(panels), size=size, share_x=True)
    for column, (label, courses) in zip(axes.T, panels.items(), strict=True):
        for ax, (point, places) in zip(column, points.items(), strict=True):
            colours = cycle([*COLOURS, *SPARE_COLOURS])
            for (name, (steps, values)), colour in zip(courses.items(), colours, strict=False):
                of_point = values[:, list(places)] if places else values
                _plot_runs(ax, (steps, of_point), name, colour)
            if label in chance:
                add_chance_line(ax, chance[label])
            ax.set_ylabel(label)
            ax.set_title(point, fontsize=LEGEND_FONT_SIZE, loc="left")
        column[-1].set_xlabel("updates")
        column[-1].legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.25),
            ncols=2,
            frameon=False,
            fontsize=LEGEND_FONT_SIZE,
        )
    add_question(figure, title)
    return figure


def _plot_runs(ax: Axes, course: Course, name: str, colour: str) -> None:
    steps, values = course
    known = ~np.isnan(values).all(axis=1)
    steps, values = steps[known], values[known]
    mark = "o" if len(steps) == 1 else ""  # a line through one point cannot be seen
    ax.plot(steps, np.nanmean(values, axis=1), mark + "-", color=colour, label=name, zorder=3)
    if values.shape[1] > 1:
        ax.plot(steps, values, mark + "-", color=colour, linewidth=0.5, alpha=0.35, zorder=2)
