"""A metric at the end of training: a dot per seed, and the mean with its standard error."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from el_jax.plots.arrays import NumSems, half_width, within
from el_jax.plots.style import SOLID, add_chance_line

DOTS_ASIDE = 7.0  # points between a mean and the dots of its seeds


def spread(num: int, width: float) -> Float[np.ndarray, "R"]:
    """``num`` offsets evenly over ``[-width/2, width/2]``; dots of equal value stay visible."""
    return np.linspace(-width / 2, width / 2, num) if num > 1 else np.zeros(num)


class Group(NamedTuple):
    """A row of dots.

    Attributes:
        label: its name on the axis.
        values: one value per seed, ``[R]``.
        colour: colour of dots and mean.
        filled: False for a hollow mean.
    """

    label: str
    values: Float[np.ndarray, "R"]
    colour: str
    filled: bool = True


def plot_seed_dots(
    ax: Axes,
    groups: Sequence[Group],
    *,
    chance: float | None = None,
    num_sems: NumSems = 2.0,
    ends: tuple[float, float] = (-np.inf, np.inf),
) -> None:
    """Draw one row per group, the first on top: every seed's value, and mean ± ``num_sems`` sem.

    Groups run down the vertical axis, so that their names can be read.

    Args:
        ax: the axes; the caller sets the horizontal label and the title.
        groups: the rows, from top to bottom.
        chance: accuracy of guessing, drawn as a line; None for no line.
        num_sems: half length of the bar in standard errors, or a function of the number of seeds
            that returns it; one seed has no bar.
        ends: bars stop there: a share has no interval beyond 0 and 1.
    """
    for row, (label, values, colour, filled) in enumerate(groups):
        ax.plot(
            values,
            row + 0.22 + spread(len(values), 0.3),
            "o",
            color=colour,
            alpha=0.45,
            markersize=3.5,
            markeredgewidth=0,
            zorder=2,
        )
        half = half_width(values, num_sems)
        bar = within(ends, values.mean(keepdims=True), half) if len(values) > 1 else None
        ax.errorbar(
            values.mean(),
            row - 0.15,
            xerr=bar,
            fmt="D",
            color=colour,
            capsize=3,
            markersize=6,
            markerfacecolor=colour if filled else "white",
            zorder=4,
            label=label,
            elinewidth=1.2,
        )
    ax.set_yticks(range(len(groups)), [group.label for group in groups])
    ax.set_ylim(len(groups) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    if chance is not None:
        add_chance_line(ax, chance, vertical=True)


def plot_lines_vs(
    ax: Axes,
    x: Sequence[float | int],
    entries: Sequence[Float[np.ndarray, "_"]],
    *,
    label: str,
    colour: str,
    filled: bool = True,
    line_style: Any = SOLID,
    num_sems: NumSems = 2.0,
    ends: tuple[float, float] = (-np.inf, np.inf),
) -> None:
    """Plot a metric against a quantity, such as the context length.

    Draws the mean with bars of ± ``num_sems`` sem, joined by a line, and every seed as a dot, a
    little to the right of the mean.

    Args:
        ax: the axes; the caller sets scales, labels and title.
        x: the quantity.
        entries: the metric of every seed, for each value of ``x``.
        label: legend text of the line.
        colour: colour of line and dots.
        filled: False for hollow means.
        line_style: matplotlib line style.
        num_sems: half length of the bars in standard errors, or a function of the number of seeds
            that returns it; one seed has no bar.
        ends: bars stop there.

    Raises:
        ValueError: ``x`` and ``entries`` differ in length.
    """
    means = np.array([values.mean() for values in entries])
    bars = within(ends, means, np.array([half_width(values, num_sems) for values in entries]))
    aside = ax.transData + ScaledTranslation(DOTS_ASIDE / 72, 0, ax.figure.dpi_scale_trans)
    for position, values in zip(x, entries, strict=True):
        at = np.full(len(values), position)
        ax.update_datalim(np.stack([at, values], axis=1))  # the shifted dots do not widen the axes
        ax.plot(
            at,
            values,
            "o",
            color=colour,
            alpha=0.35,
            markersize=4,
            markeredgewidth=0,
            zorder=2,
            transform=aside,
        )
    ax.errorbar(
        x,
        means,
        yerr=bars,
        fmt="D",
        color=colour,
        linestyle=line_style,
        capsize=3,
        elinewidth=1,
        markersize=5,
        label=label,
        zorder=4,
        markerfacecolor=colour if filled else "white",
    )
