"""Four predictions along training: medians, every problem a thin line, the theory a dashed one."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import (
    THEORY_COLOUR,
    CurveTable,
    add_legend,
    add_question,
    add_titles,
    look_up,
    new_figure,
    plot_median,
)
from experiments.harness.figures import GLOSSARY, count, mean_of
from experiments.harness.tables import curve_table, read_curves, read_results

STYLES = {  # colour and label of a setting
    "GD": ("#000000", "gradient descent"),
    "flow": ("#cc79a7", "gradient flow, t = η k"),
    "NGD, step size 0.05": ("#e69f00", "normalised descent, η = 0.05"),
    "NGD, step size 0.2": ("#0072b2", "normalised descent, η = 0.2"),
    "NGD, one-hot": ("#56b4e9", "normalised descent, one-hot data"),
    "split NGD": ("#009e73", "split normalised descent"),
}
LOSS, FINITE = r"$\eta k\,(CE - H) \,/\, \|W_{mm}\|^2$", r"$\|P_F W - W^*\|$"
FLOOR, MARGIN = r"$(CE - H) \,/\, (\lambda_F \eta^2 / 8)$", r"1 − margin / $\gamma$"
PANELS = {  # title: vertical label, metric, settings
    "Gradient descent: loss over its prediction": (LOSS, "loss_constant", ("GD", "flow")),
    "Gradient descent: finite part, as 1 / k": (FINITE, "finite_error", ("GD", "flow")),
    "Normalised descent: loss over its floor": (FLOOR, "loss_ratio", tuple(STYLES)[2:4]),
    "Share of the margin that is missing": (MARGIN, "margin_gap", ("GD", *tuple(STYLES)[2:])),
}


def plot(out: Path) -> Figure:
    """Above: loss and finite part of gradient descent. Below: normalised descent, and margins."""
    frame = read_curves(out / "curves.csv")
    curves = curve_table(frame)
    figure, axes = new_figure(2, 2, size=(8.4, 6.4))
    add_question(figure, answer(read_results(out / "results.csv")))
    for ax, (label, metric, settings) in zip(axes.ravel(), PANELS.values(), strict=True):
        _draw(ax, curves, metric, settings)
        ax.set_xscale("log")
        ax.set_xlabel("step k, or time t of the flow" if "flow" in settings else "step k")
        ax.set_ylabel(label)
    for ax in (axes[0, 0], axes[1, 0]):
        ax.axhline(1, color=THEORY_COLOUR, linestyle="--", zorder=5)
    axes[0, 0].set_ylim(0, 1.5)
    _draw_power_law(axes[0, 1], curves, "GD", "finite_error", decades=3)
    _draw_power_law(axes[1, 1], curves, "split NGD", "margin_gap", decades=2)
    for ax in (axes[0, 1], axes[1, 0], axes[1, 1]):
        ax.set_yscale("log")
    add_titles(axes.ravel(), PANELS)
    note = f"thick: median of {count(frame, 'problems')}, thin: each of them\n{GLOSSARY}"
    add_legend(figure, _handles(frame), num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """Mean distance of the last losses from their predictions; the worse of two step sizes."""
    descent = mean_of(results, "GD", "loss_constant_error")
    floors = [mean_of(results, s, "loss_ratio_error") for s in PANELS[list(PANELS)[2]][2]]
    return (
        f"Gradient descent ends {100 * descent:.1f} % from the loss predicted for it,\n"
        f"normalised descent stalls {100 * max(floors):.1f} % from its predicted floor"
    )


def _draw(ax: Axes, curves: CurveTable, metric: str, settings: tuple[str, ...]) -> None:
    for setting in settings:
        if (setting, metric) in curves:
            plot_median(ax, curves[setting, metric], colour=STYLES[setting][0])


def _draw_power_law(
    ax: Axes, curves: CurveTable, setting: str, metric: str, *, decades: int
) -> None:
    """1 / k through the last median, over the last decades of steps."""
    if (setting, metric) not in curves:
        return
    curve = look_up(curves, setting, metric)
    steps = curve.steps[curve.steps > curve.steps[-1] / 10**decades]
    last = np.median(curve.values[:, -1])
    ax.plot(steps, last * curve.steps[-1] / steps, color=THEORY_COLOUR, linestyle="--", zorder=5)


def _handles(frame: pd.DataFrame) -> list[Line2D]:
    drawn = set(frame["setting"])
    handles = [
        Line2D([], [], color=colour, label=label)
        for setting, (colour, label) in STYLES.items()
        if setting in drawn
    ]
    return [*handles, Line2D([], [], color=THEORY_COLOUR, linestyle="--", label="prediction")]
