"""Margin ratios of every optimizer, one-hot data beside larger supports."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from el_jax.plots import (
    OPTIMIZER_COLOURS,
    CurveTable,
    add_legend,
    add_question,
    add_titles,
    look_up,
    new_figure,
)
from el_jax.plots.tables import half_width
from experiments.harness.figures import decimal, t_note, t_sems
from experiments.harness.statistics import t_interval
from experiments.harness.tables import curve_table, read_curves, read_results, values_of
from experiments.ntp_optimizers.settings import NAMES, NORMS, OWN_NORM, setting_name

LINE_STYLES = {"frobenius": "-", "max": (0, (4, 1.5)), "spectral": (0, (1, 1))}
PANELS = {1: "One-hot data: S = 1 next token", 3: "S = 3 tokens after each context"}
FRAME: dict[str, Any] = {"fill": False, "edgecolor": "#d55e00", "linewidth": 2.2}
DARK = 0.55  # ratio from which a cell's ground is dark


def plot(out: Path) -> Figure:
    """Per support size a matrix of methods and norms, and the course of each one's own ratio."""
    results = read_results(out / "results.csv")
    curves = curve_table(read_curves(out / "curves.csv"))
    figure, axes = new_figure(2, len(PANELS), size=(8.4, 6.6), heights=(3.0, 2.4))
    add_question(figure, answer(results))
    halves = [_draw(ax, results, S) for S, ax in zip(PANELS, axes[0], strict=True)]
    for S, ax in zip(PANELS, axes[1], strict=True):
        _draw_course(ax, curves, S)
    for ax in axes[:, 1]:
        ax.tick_params(labelleft=False)
    axes[1, 0].set_ylabel("ratio in the method's own norm")
    add_titles(axes.ravel(), [*PANELS.values(), *(f"S = {S}, along training" for S in PANELS)])
    frame = Rectangle((0, 0), 1, 1, **FRAME, label="(a, b) own norm of the method")
    note = (
        "margin of $P_\\perp W$ / the largest margin in that norm, after the last step (a, b) and "
        f"along training (c, d)\nbands: {t_note(results, 'problems')}; in (a, b) it is within "
        f"± {decimal(max(halves))}"
    )
    handles = [frame, *axes[1, 0].get_legend_handles_labels()[0]]
    add_legend(figure, handles, num_columns=4, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """Number of methods that lean to their own norm: the interval of its lead is above 0."""
    shown = []
    for S in PANELS:
        leads = [values_of(results, setting_name(m, S), "margin_ratio_own_lead") for m in OWN_NORM]
        shown.append(f"{sum(t_interval(lead).low > 0 for lead in leads)} of {len(leads)}")
    return (
        f"On one-hot data {shown[0]} optimizers lean to the max margin of their own norm,\n"
        f"with {list(PANELS)[1]} tokens after each context {shown[1]} do"
    )


def _draw(ax: Axes, results: pd.DataFrame, support_size: int) -> float:
    """Means in a matrix; the longest half of an interval."""
    cells = [
        [
            t_interval(values_of(results, setting_name(method, support_size), f"margin_ratio_{n}"))
            for n in NORMS
        ]
        for method in OWN_NORM
    ]
    means = np.array([[cell.mean for cell in row] for row in cells])
    ax.imshow(means, vmin=0.0, vmax=1.0, cmap="Blues", aspect="auto")
    for (row, column), mean in np.ndenumerate(means):
        own = list(NORMS)[column] == list(OWN_NORM.values())[row]
        ax.text(
            column, row, decimal(mean), ha="center", va="center", fontsize=9.5,
            color="white" if mean > DARK else "black", fontweight="bold" if own else "normal",
        )  # fmt: skip
        if own:
            ax.add_patch(Rectangle((column - 0.47, row - 0.44), 0.94, 0.88, **FRAME))
    ax.set_xticks(range(len(NORMS)), list(NORMS.values()))
    ax.set_yticks(range(len(OWN_NORM)), [NAMES[method] for method in OWN_NORM])
    ax.grid(visible=False)
    ax.set_xlabel("norm of the margin")
    return max(cell.mean - cell.low for row in cells for cell in row)


def _draw_course(ax: Axes, curves: CurveTable, support_size: int) -> None:
    for method, own in OWN_NORM.items():
        colour = OPTIMIZER_COLOURS[method]
        curve = look_up(curves, setting_name(method, support_size), "margin_ratio_own")
        mean, half = curve.values.mean(axis=0), half_width(curve.values, t_sems)
        ax.fill_between(
            curve.steps, mean - half, mean + half, color=colour, alpha=0.15, linewidth=0
        )
        ax.plot(curve.steps, mean, color=colour, linestyle=LINE_STYLES[own], label=NAMES[method])
    ax.set_xscale("log")
    ax.set_ylim(-0.5, 1.05)
    ax.set_xlabel("step")
