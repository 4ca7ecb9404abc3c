"""A metric along training: mean over seeds with a band of standard errors, or median and seeds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from el_jax.plots.style import HARD, colours_of
from el_jax.plots.tables import Curve, CurveTable, NumSems, half_width, look_up, mean_and_sem


def plot_curves(
    ax: Axes,
    table: CurveTable,
    metric: str,
    settings: Sequence[str],
    *,
    line_style: Any = HARD,
    colours: Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
    num_sems: NumSems = 2.0,
    show_seeds: bool = False,
) -> None:
    """Draw one line per setting, the mean over seeds, in a band of ± ``num_sems`` standard errors.

    Args:
        ax: the axes; the caller sets scales, labels and title.
        table: the curves.
        metric: the metric to draw.
        settings: the settings to draw; in order.
        line_style: matplotlib line style; ``style.HARD`` or ``style.EASY``.
        colours: one per setting, where lines of one loss must be told apart; by default its loss's.
        labels: legend text of a setting; by default its name.
        num_sems: half height of the band in standard errors, or a function of the number of seeds
            that gives it; one seed has no band.
        show_seeds: also draw every seed as a thin line.

    Raises:
        ValueError: a setting has no such metric.
    """
    for setting, colour in zip(settings, colours or colours_of(settings), strict=True):
        curve = look_up(table, setting, metric)
        mean, _ = mean_and_sem(curve.values)
        label = setting if labels is None else labels[setting]
        ax.plot(curve.steps, mean, color=colour, linestyle=line_style, label=label, zorder=3)
        if len(curve.seeds) > 1:
            half = half_width(curve.values, num_sems)
            ax.fill_between(
                curve.steps, mean - half, mean + half, color=colour, alpha=0.18, linewidth=0
            )
        if show_seeds:
            for values in curve.values:
                ax.plot(curve.steps, values, color=colour, linestyle=line_style,
                        linewidth=0.5, alpha=0.35, zorder=2)  # fmt: skip


def plot_median(
    ax: Axes, curve: Curve, *, colour: str, line_style: Any = HARD, label: str | None = None,
    middle: float | None = None,
) -> None:  # fmt: skip
    """Draw the median over seeds, in a band of their middle share or with a thin line for each.

    Neither leaves the range of the data, so both are safe on a logarithmic axis, where a mean less
    some standard errors may be negative.

    Args:
        ax: the axes.
        curve: the metric of every seed.
        colour: of the line and of what surrounds it.
        line_style: matplotlib line style of the median.
        label: legend text of the median.
        middle: share of the seeds inside the band, such as 0.8 for the 10th to the 90th
            percentile; None for a thin line per seed.
    """
    median = np.median(curve.values, axis=0)
    ax.plot(curve.steps, median, color=colour, linestyle=line_style, label=label, zorder=3)
    if len(curve.seeds) < 2:
        return
    if middle is None:
        ax.plot(curve.steps, curve.values.T, color=colour, linestyle=line_style, linewidth=0.6,
                alpha=0.4, zorder=2)  # fmt: skip
        return
    low, high = np.quantile(curve.values, [(1 - middle) / 2, (1 + middle) / 2], axis=0)
    ax.fill_between(curve.steps, low, high, color=colour, alpha=0.2, linewidth=0)
    ax.plot(curve.steps, np.stack([low, high], axis=1), color=colour, linewidth=0.6, alpha=0.5)
