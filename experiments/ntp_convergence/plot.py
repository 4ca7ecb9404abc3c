"""Loss, size, direction, margin and finite part over training, a colour per method."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import DASHED, add_legend, add_titles, plot_median
from experiments.harness.figures import (
    GLOSSARY,
    count,
    curve_of,
    decimal,
    figure_answering,
    key,
    mean_of,
)
from experiments.harness.tables import levels
from experiments.ntp_convergence.claims import NAMES, PAPER_STEPS

COLOURS = {"gd": "#000000", "ngd": "#e69f00", "adam": "#0072b2"}
PANELS = {  # title: vertical label, metric, data
    "Loss above the entropy": ("CE − H, nats", "excess_loss", "probabilities"),
    "Size": (r"$\|W\|$", "norm", "probabilities"),
    "Direction": (r"1 − cosine with $W_{mm}$", "cosine", "probabilities"),
    "Margin, over the largest": (
        r"margin of $P_\perp W$ / $\gamma$",
        "margin_ratio",
        "probabilities",
    ),
    "Finite part, rare tokens": (r"$\|P_F W - W^*\|$", "finite_error", "probabilities"),
    "Finite part, none rare": (r"$\|P_F W - W^*\|$", "finite_error", "counts"),
}
NEAR = 0.9  # cosine from which a method nearly has the direction, as in claims
LINEAR = ("norm", "margin_ratio")


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Six panels; medians over problems, and every problem a thin line."""
    figure, axes = figure_answering(answer(results), 2, 3, size=(8.4, 5.6))
    for ax, (label, metric, data) in zip(axes.ravel(), PANELS.values(), strict=True):
        _draw(ax, curves, metric, data)
        ax.set_ylabel(label)
    axes[1, 0].axhline(0, color="black", linewidth=0.8)
    axes[1, 1].sharey(axes[1, 2])
    add_titles(axes.ravel(), PANELS)
    handles = [key(name, COLOURS[m]) for m, name in NAMES.items()]
    handles += [
        key("(c) of W − W*", "#777777", style=DASHED),
        key("(all) where the paper stops", "#777777", style=":"),
    ]
    note = f"thick: median of {count(curves, 'problems')}, thin: each of them\n{GLOSSARY}"
    add_legend(figure, handles, num_columns=5, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The cosine of every method with W_mm at the last step."""
    last = levels(results, "num_steps")[-1]
    at = {"data": "probabilities", "num_steps": last}
    cosines = {m: mean_of(results, {"optimizer": m, **at}, "cosine") for m in NAMES}
    shown = ", ".join(f"{decimal(cosine)} ({NAMES[m]})" for m, cosine in cosines.items())
    which = "All" if min(cosines.values()) >= NEAR else "Not all"
    return f"{which} turn to $W_{{mm}}$: cosine {shown} after {last:,.0f} steps"


def _draw(ax: Axes, curves: pd.DataFrame, metric: str, data: str) -> None:
    for method, colour in COLOURS.items():
        where = {"optimizer": method, "data": data}
        curve = curve_of(curves, where, metric)
        if metric == "cosine":
            curve = curve._replace(values=1 - curve.values)
            rest = curve_of(curves, where, "cosine_minus_finite")
            median = 1 - np.median(rest.values, axis=0)
            ax.plot(rest.steps, median, color=colour, linestyle=DASHED)
        plot_median(ax, curve, colour=colour)
    ax.axvline(PAPER_STEPS, color="#777777", linestyle=":", linewidth=1.2, zorder=1)
    ax.set_xscale("log")
    if metric not in LINEAR:
        ax.set_yscale("log")
    ax.set_xlabel("step")
