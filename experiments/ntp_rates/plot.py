"""Six predictions along training: every seed a thin line, the theory a dashed one."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import (
    EASY,
    HARD,
    THEORY_COLOUR,
    CurveTable,
    add_legend,
    add_question,
    add_title,
    look_up,
    new_figure,
)
from experiments.harness.tables import curve_table, read_curves

COLOURS = {
    "GD": "#000000",
    "flow": "#7a5195",
    "NGD, step size 0.05": "#e69f00",
    "NGD, step size 0.2": "#d55e00",
    "NGD, one-hot": "#56b4e9",
    "split NGD": "#009e73",
}


def plot(out: Path) -> Figure:
    """Above: loss, finite part and growth. Below: direction, floor of NGD, margins."""
    curves = curve_table(read_curves(out / "curves.csv"))
    figure, axes = new_figure(2, 3, size=(10.8, 6.6))
    add_question(figure, "How fast are the limits of linear next-token prediction reached?")
    _draw_loss(axes[0, 0], curves)
    _draw_finite(axes[0, 1], curves)
    _draw_growth(axes[0, 2], curves)
    _draw_direction(axes[1, 0], curves)
    _draw_floor(axes[1, 1], curves)
    _draw_margins(axes[1, 2], curves)
    for ax in axes.ravel():
        ax.set_xscale("log")
        ax.set_xlabel("step k, or time t of the flow")
    add_legend(figure, _handles(curves), num_columns=4)
    return figure


def _draw(
    ax: Axes, curves: CurveTable, setting: str, metric: str, line_style: object = HARD
) -> None:
    """The median over seeds, and every seed."""
    if (setting, metric) not in curves:
        return
    curve, colour = look_up(curves, setting, metric), COLOURS[setting]
    for values in curve.values:
        ax.plot(curve.steps, values, color=colour, linestyle=line_style, linewidth=0.5, alpha=0.3)
    ax.plot(curve.steps, np.median(curve.values, axis=0), color=colour, linestyle=line_style)


def _theory(ax: Axes, x: np.ndarray, y: np.ndarray) -> None:
    ax.plot(x, y, color=THEORY_COLOUR, linestyle="--", zorder=5)


def _draw_loss(ax: Axes, curves: CurveTable) -> None:
    for setting in ("GD", "flow"):
        _draw(ax, curves, setting, "loss_constant")
    ax.axhline(1, color=THEORY_COLOUR, linestyle="--", zorder=5)
    ax.set_ylim(0, 1.5)
    add_title(ax, r"$\eta k\,(CE - H) \,/\, \|W_{mm}\|^2 \to 1$")


def _draw_finite(ax: Axes, curves: CurveTable) -> None:
    for setting in ("GD", "flow"):
        _draw(ax, curves, setting, "finite_error")
    x, y = _median(curves, "GD", "finite_error")
    _theory(ax, x[x > x[-1] / 1e3], (y[-1] * x[-1] / x)[x > x[-1] / 1e3])
    ax.set_yscale("log")
    add_title(ax, r"$\|P_F W - W^*\|$, slope −1")


def _draw_growth(ax: Axes, curves: CurveTable) -> None:
    for setting in ("GD", "flow"):
        _draw(ax, curves, setting, "growth")
    x, y = _median(curves, "GD", "growth")
    late = x > x[-1] / 1e3
    _theory(ax, x[late], y[-1] + np.log(x[late] / x[-1]))
    add_title(ax, r"$\|P_\perp W\| \,/\, \|W_{mm}\|$, slope 1 in $\log k$")


def _draw_direction(ax: Axes, curves: CurveTable) -> None:
    for setting in ("GD", "flow"):
        _draw(ax, curves, setting, "direction_product")
        _draw(ax, curves, setting, "margin_product", EASY)
    ax.set_ylim(bottom=0)
    add_title(ax, r"bounded: $(1 - \cos)\log^2 k$; dashed: $(1 - $margin$/\gamma)\log k$")


def _draw_floor(ax: Axes, curves: CurveTable) -> None:
    for setting in COLOURS:
        _draw(ax, curves, setting, "loss_ratio")
        _draw(ax, curves, setting, "finite_ratio", EASY)
    ax.axhline(1, color=THEORY_COLOUR, linestyle="--", zorder=5)
    ax.set_yscale("log")
    add_title(
        ax, r"NGD stalls: $(CE - H)\,/\,\frac{\lambda_F \eta^2}{8}$; dashed: error$/\frac{\eta}{2}$"
    )


def _draw_margins(ax: Axes, curves: CurveTable) -> None:
    for setting in COLOURS:
        if setting != "flow":
            _draw(ax, curves, setting, "margin_gap")
    _draw(ax, curves, "GD", "certificate_gap", EASY)
    if ("split NGD", "margin_gap") in curves:
        x, y = _median(curves, "split NGD", "margin_gap")
        _theory(ax, x[x > x[-1] / 100], (y[-1] * x[-1] / x)[x > x[-1] / 100])
    ax.set_yscale("log")
    add_title(ax, r"$1 - $margin$/\gamma$; dashed: $\|\nabla\|/\gamma G - 1$ of GD")


def _median(curves: CurveTable, setting: str, metric: str) -> tuple[np.ndarray, np.ndarray]:
    curve = look_up(curves, setting, metric)
    return curve.steps.astype(float), np.median(curve.values, axis=0)


def _handles(curves: CurveTable) -> list[Line2D]:
    names = {"flow": "gradient flow"}
    drawn = [setting for setting in COLOURS if any(s == setting for s, _ in curves)]
    handles = [Line2D([], [], color=COLOURS[s], label=names.get(s, s)) for s in drawn]
    handles.append(Line2D([], [], color=THEORY_COLOUR, linestyle="--", label="prediction"))
    return handles
