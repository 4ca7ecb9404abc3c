"""Loss, size, direction, margin and finite part along training, a colour per method."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import (
    EASY,
    OPTIMIZER_COLOURS,
    CurveTable,
    add_legend,
    add_question,
    add_titles,
    new_figure,
    plot_median,
)
from experiments.harness.figures import GLOSSARY, count, decimal, mean_of
from experiments.harness.tables import curve_table, read_curves, read_results, with_parts

METHODS = ("GD", "NGD", "Adam")
COLOURS = {method: OPTIMIZER_COLOURS[method.lower()] for method in METHODS}
PAPER_STEPS = 10_000
WITHOUT_FINITE = EASY  # line style of W − W*
PANELS = {  # title: vertical label, metric, data
    "Loss above the entropy": ("CE − H, nats", "excess_loss", ""),
    "Size": (r"$\|W\|$", "norm", ""),
    "Direction": (r"1 − cosine with $W_{mm}$", "cosine", ""),
    "Margin, over the largest": (r"margin of $P_\perp W$ / $\gamma$", "margin_ratio", ""),
    "Finite part, rare tokens": (r"$\|P_F W - W^*\|$", "finite_error", ""),
    "Finite part, none rare": (r"$\|P_F W - W^*\|$", "finite_error", " on counts"),
}
NEAR = 0.9  # cosine from which a method has nearly the direction, as in claims
LINEAR = ("norm", "margin_ratio")


def plot(out: Path) -> Figure:
    """Six panels; medians over problems, and every problem a thin line."""
    frame = read_curves(out / "curves.csv")
    curves = curve_table(frame)
    figure, axes = new_figure(2, 3, size=(8.4, 5.6))
    add_question(figure, answer(read_results(out / "results.csv")))
    for ax, (label, metric, data) in zip(axes.ravel(), PANELS.values(), strict=True):
        _draw(ax, curves, metric, data)
        ax.set_ylabel(label)
    axes[1, 0].axhline(0, color="black", linewidth=0.8)
    axes[1, 1].sharey(axes[1, 2])
    add_titles(axes.ravel(), PANELS)
    handles = [Line2D([], [], color=COLOURS[method], label=method) for method in METHODS]
    handles += [
        Line2D([], [], color="#777777", linestyle=WITHOUT_FINITE, label="(c) of W − W*"),
        Line2D([], [], color="#777777", linestyle=":", label="(all) where the paper stops"),
    ]
    note = f"thick: median of {count(frame, 'problems')}, thin: each of them\n{GLOSSARY}"
    add_legend(figure, handles, num_columns=5, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The cosine of every method with W_mm at the last step."""
    last = with_parts(results, r".*, step (?P<step>\d+)")["step"].max()
    cosines = {m: mean_of(results, f"{m}, step {last}", "cosine") for m in METHODS}
    shown = ", ".join(f"{decimal(cosine)} ({method})" for method, cosine in cosines.items())
    which = "All" if min(cosines.values()) >= NEAR else "Not all"
    return f"{which} turn to $W_{{mm}}$: cosine {shown} after {last:,} steps"


def _draw(ax: Axes, curves: CurveTable, metric: str, data: str) -> None:
    for method, colour in COLOURS.items():
        setting = method + data
        if (setting, metric) not in curves:
            continue
        curve = curves[setting, metric]
        if metric != "cosine":
            plot_median(ax, curve, colour=colour)
            continue
        plot_median(ax, curve._replace(values=1 - curve.values), colour=colour)
        rest = curves[setting, "cosine_minus_finite"]
        median = 1 - pd.DataFrame(rest.values).median().to_numpy()
        ax.plot(rest.steps, median, color=colour, linestyle=WITHOUT_FINITE)
    ax.axvline(PAPER_STEPS, color="#777777", linestyle=":", linewidth=1.2, zorder=1)
    ax.set_xscale("log")
    if metric not in LINEAR:
        ax.set_yscale("log")
    ax.set_xlabel("step")
