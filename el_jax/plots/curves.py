"""A metric along training: mean over seeds and a band of standard errors."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from el_jax.plots.style import HARD, colours_of
from el_jax.plots.tables import CurveTable, look_up, mean_and_sem


def plot_curves(
    ax: Axes,
    table: CurveTable,
    metric: str,
    settings: Sequence[str],
    *,
    line_style: Any = HARD,
    labels: Mapping[str, str] | None = None,
    num_sems: float = 2.0,
    show_seeds: bool = False,
) -> None:
    """Draw one line per setting, the mean over seeds, in a band of ± ``num_sems`` standard errors.

    Args:
        ax: the axes; the caller sets scales, labels and title.
        table: the curves.
        metric: the metric to draw.
        settings: the settings to draw; a line's colour is that of its loss.
        line_style: matplotlib line style; ``style.HARD`` or ``style.EASY``.
        labels: legend text of a setting; by default its name.
        num_sems: half height of the band in standard errors; one seed has no band.
        show_seeds: also draw every seed as a thin line.

    Raises:
        ValueError: a setting has no such metric.
    """
    for setting, colour in zip(settings, colours_of(settings), strict=True):
        curve = look_up(table, setting, metric)
        mean, sem = mean_and_sem(curve.values)
        label = setting if labels is None else labels[setting]
        ax.plot(curve.steps, mean, color=colour, linestyle=line_style, label=label, zorder=3)
        if len(curve.seeds) > 1:
            low, high = mean - num_sems * sem, mean + num_sems * sem
            ax.fill_between(curve.steps, low, high, color=colour, alpha=0.18, linewidth=0)
        if show_seeds:
            for values in curve.values:
                ax.plot(curve.steps, values, color=colour, linestyle=line_style,
                        linewidth=0.5, alpha=0.35, zorder=2)  # fmt: skip
