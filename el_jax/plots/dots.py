"""A metric at the end of training: every seed a dot, the mean with its standard error."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from el_jax.plots.style import HARD, add_chance_line, colours_of, marker_fill
from el_jax.plots.tables import NumSems, SeedTable, half_width, look_up, mean_and_sem

DOTS_ASIDE = 7.0  # points between a mean and the dots of its seeds


def spread(num: int, width: float) -> Float[np.ndarray, "R"]:
    """``num`` offsets evenly over ``[-width/2, width/2]``; dots of equal value stay visible."""
    return np.linspace(-width / 2, width / 2, num) if num > 1 else np.zeros(num)


def plot_seed_dots(
    ax: Axes,
    table: SeedTable,
    metric: str,
    settings: Sequence[str],
    *,
    chance: float | None = None,
    num_sems: NumSems = 2.0,
) -> None:
    """One row per setting, first on top: every seed's value, and mean ± ``num_sems`` sem.

    Settings run down the vertical axis, so that their names can be read.

    Args:
        ax: the axes; the caller sets the horizontal label and the title.
        table: the values.
        metric: the metric to draw.
        settings: the settings to draw, from top to bottom.
        chance: accuracy of guessing, drawn as a line; None for no line.
        num_sems: half length of the bar in standard errors, or a function of the number of seeds
            that gives it; one seed has no bar.

    Raises:
        ValueError: a setting has no such metric.
    """
    for row, (setting, colour) in enumerate(zip(settings, colours_of(settings), strict=True)):
        values = look_up(table, setting, metric).values
        mean, _ = mean_and_sem(values)
        ax.plot(values, row + 0.22 + spread(len(values), 0.3), "o", color=colour, alpha=0.45,
                markersize=3.5, markeredgewidth=0, zorder=2)  # fmt: skip
        bar = half_width(values, num_sems) if len(values) > 1 else None
        ax.errorbar(mean, row - 0.15, xerr=bar, fmt="D", color=colour, capsize=3, markersize=6,
                    markerfacecolor=marker_fill(setting, colour), zorder=4, label=setting,
                    elinewidth=1.2)  # fmt: skip
    ax.set_yticks(range(len(settings)), settings)
    ax.set_ylim(len(settings) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    if chance is not None:
        add_chance_line(ax, chance, vertical=True)


def plot_lines_vs(
    ax: Axes,
    x: Sequence[float | int],
    table: SeedTable,
    metric: str,
    settings: Sequence[str],
    *,
    label: str,
    line_style: Any = HARD,
    num_sems: NumSems = 2.0,
) -> None:
    """The metric against a quantity that varies over settings, such as the context length.

    Draws the mean with bars of ± ``num_sems`` sem, joined by a line, and every seed as a dot, a
    little to the right of the mean.

    Args:
        ax: the axes; the caller sets scales, labels and title.
        x: the quantity, one number per setting.
        table: the values.
        metric: the metric to draw.
        settings: the settings, in the order of ``x``; the line has the colour of the first.
        label: legend text of the line.
        line_style: matplotlib line style; ``style.HARD`` or ``style.EASY``.
        num_sems: half length of the bars in standard errors, or a function of the number of seeds
            that gives it; one seed has no bar.

    Raises:
        ValueError: ``x`` and ``settings`` differ in length, or a setting has no such metric.
    """
    if len(x) != len(settings):
        raise ValueError(f"{len(x)} numbers in x for {len(settings)} settings; need one each.")
    colour = colours_of(settings)[0]
    entries = [look_up(table, setting, metric).values for setting in settings]
    means = np.array([values.mean() for values in entries])
    bars = np.array([half_width(values, num_sems) for values in entries])
    aside = ax.transData + ScaledTranslation(DOTS_ASIDE / 72, 0, ax.figure.dpi_scale_trans)
    for position, values in zip(x, entries, strict=True):
        ax.plot(np.full(len(values), position), values, "o", color=colour, alpha=0.35,
                markersize=4, markeredgewidth=0, zorder=2,
                transform=aside)  # fmt: skip
    ax.errorbar(np.asarray(x), means, yerr=bars, fmt="D", color=colour,
                linestyle=line_style, capsize=3, elinewidth=1, markersize=5, label=label, zorder=4,
                markerfacecolor=marker_fill(settings[0], colour))  # fmt: skip
