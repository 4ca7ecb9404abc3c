"""Loss, size, direction, margin and finite part along training, a line per method."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import (
    EASY,
    HARD,
    CurveTable,
    add_legend,
    add_question,
    add_title,
    new_figure,
    plot_curves,
)
from experiments.harness.tables import curve_table, read_curves

METHODS = ("GD", "NGD", "Adam")
PAPER_STEPS = 10_000
PAPER_LINE: dict[str, Any] = {"color": "#777777", "linestyle": ":", "linewidth": 1.2}


def plot(out: Path) -> Figure:
    """Six panels; a line is the mean over problems, in a band of two standard errors."""
    curves = curve_table(read_curves(out / "curves.csv"))
    figure, axes = new_figure(2, 3, size=(10.5, 6.2))
    add_question(figure, "Do gradient descent, NGD and Adam go to the same decoder?")
    panels = axes.ravel()
    _draw(panels[0], curves, "excess_loss", "CE − H, nats")
    _draw(panels[1], curves, "norm", r"$\|W\|$")
    _draw(panels[2], curves, "finite_error", r"$\|P_F W - W^*\|$, dashed: on counts")
    _draw(panels[2], curves, "finite_error", "", line_style=EASY, data=" on counts")
    _draw(panels[3], curves, "cosine", r"cosine with $W_{mm}$: $W$ solid, $W - W^*$ dashed")
    _draw(panels[3], curves, "cosine_minus_finite", "", line_style=EASY)
    _draw(panels[4], curves, "cosine", "1 − cosine, likewise", complement=True)
    _draw(panels[4], curves, "cosine_minus_finite", "", line_style=EASY, complement=True)
    _draw(panels[5], curves, "margin_ratio", r"margin of $P_\perp W$ over the largest, $\gamma$")
    for ax in (panels[0], panels[2], panels[4]):
        ax.set_yscale("log")
    panels[5].axhline(0, color="black", linewidth=0.8)
    handles = panels[0].get_legend_handles_labels()[0]
    handles.append(Line2D([], [], **PAPER_LINE, label="the 10,000 steps of the paper"))
    add_legend(figure, handles, num_columns=4)
    return figure


def _draw(
    ax: Axes, curves: CurveTable, metric: str, title: str, *,
    line_style: object = HARD, complement: bool = False, data: str = "",
) -> None:  # fmt: skip
    settings = [method + data for method in METHODS if (method + data, metric) in curves]
    shown = {
        (setting, metric): curve._replace(values=1 - curve.values) if complement else curve
        for setting in settings
        for curve in [curves[setting, metric]]
    }
    plot_curves(ax, shown, metric, settings, line_style=line_style)
    ax.set_xscale("log")
    ax.set_xlabel("step")
    if title:
        add_title(ax, title)
        ax.axvline(PAPER_STEPS, **PAPER_LINE)
