"""A metric along training: mean over seeds with a band of standard errors, or median and seeds."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from el_jax.plots.arrays import Curve, NumSems, half_width, mean_and_sem, within
from el_jax.plots.style import SOLID


def plot_curve(
    ax: Axes,
    curve: Curve,
    *,
    colour: str,
    label: str | None = None,
    line_style: Any = SOLID,
    num_sems: NumSems = 2.0,
    ends: tuple[float, float] = (-np.inf, np.inf),
    show_seeds: bool = False,
) -> None:
    """Draw the mean over seeds in a band of ± ``num_sems`` standard errors.

    Args:
        ax: the axes; the caller sets scales, labels and title.
        curve: the metric of every seed.
        colour: colour of the line and its band.
        label: legend text.
        line_style: matplotlib line style.
        num_sems: half height of the band in standard errors, or a function of the number of seeds
            that returns it; one seed has no band.
        ends: the band stops there: a share has no interval beyond 0 and 1.
        show_seeds: also draw every seed as a thin line.
    """
    mean, _ = mean_and_sem(curve.values)
    ax.plot(curve.steps, mean, color=colour, linestyle=line_style, label=label, zorder=3)
    if len(curve.values) > 1:
        below, above = within(ends, mean, half_width(curve.values, num_sems))
        ax.fill_between(
            curve.steps, mean - below, mean + above, color=colour, alpha=0.18, linewidth=0
        )
    if show_seeds:
        ax.plot(
            curve.steps,
            curve.values.T,
            color=colour,
            linestyle=line_style,
            linewidth=0.5,
            alpha=0.35,
            zorder=2,
        )


def plot_median(
    ax: Axes,
    curve: Curve,
    *,
    colour: str,
    label: str | None = None,
    middle: float | None = None,
) -> None:
    """Draw the median over seeds, with a band of their middle share or a thin line for each seed.

    Neither leaves the range of the data, so both are safe on a logarithmic axis; a mean minus some
    standard errors may be negative.

    Args:
        ax: the axes.
        curve: the metric of every seed.
        colour: colour of the line and of its band or thin lines.
        label: legend text of the median.
        middle: share of the seeds inside the band, such as 0.8 for the 10th to the 90th
            percentile; None for a thin line per seed.
    """
    median = np.median(curve.values, axis=0)
    ax.plot(curve.steps, median, color=colour, label=label, zorder=3)
    if len(curve.values) < 2:
        return
    if middle is None:
        ax.plot(
            curve.steps,
            curve.values.T,
            color=colour,
            linewidth=0.6,
            alpha=0.4,
            zorder=2,
        )
        return
    low, high = np.quantile(curve.values, [(1 - middle) / 2, (1 + middle) / 2], axis=0)
    ax.fill_between(curve.steps, low, high, color=colour, alpha=0.2, linewidth=0)
    ax.plot(curve.steps, np.stack([low, high], axis=1), color=colour, linewidth=0.6, alpha=0.5)
