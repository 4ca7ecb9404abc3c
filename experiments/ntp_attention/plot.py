"""The course of the weights towards both limits, and their margins in two norms."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles, plot_median
from experiments.harness.figures import (
    count,
    curve_of,
    decimal,
    draw_dots,
    figure_answering,
    key,
    mean_of,
    t_note,
)
from experiments.harness.tables import Where
from experiments.ntp_attention.claims import GD, NGD, SIGN
from experiments.ntp_attention.run import NORMS

COLOURS = {"gd": "#000000", "ngd": "#0072b2", "sign": "#d55e00"}
LABELS = {"gd": "gradient descent", "ngd": "normalised", "sign": "sign descent"}
ROWS = (GD, NGD, SIGN)
COURSES = {
    "cosine_frobenius": "1 − cosine with the graph SVM",
    "finite_error": "distance in cycles",
}


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Two courses, then a panel of dots for each norm."""
    figure, axes = figure_answering(answer(results), 2, 2, size=(8.6, 5.6))
    for ax, metric in zip(axes[0], COURSES, strict=True):
        for where in ROWS:
            curve = curve_of(curves, where, metric)
            if metric.startswith("cosine"):
                curve = curve._replace(values=1 - curve.values)
            plot_median(ax, curve, colour=COLOURS[where["optimizer"]])
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("updates")
    axes[0, 1].set_ylim(bottom=1e-5)
    for ax, norm in zip(axes[1], NORMS, strict=True):
        draw_dots(ax, results, f"margin_{norm}", ROWS, label=_label, colour=_colour)
        ax.set_xlim(0, 1.03)
    axes[1, 1].set_yticklabels([])
    margins = [f"margin over the largest, {norm} norm" for norm in ("Frobenius", "max")]
    add_titles(axes.ravel(), [*COURSES.values(), *margins])
    handles = [key(label, COLOURS[name]) for name, label in LABELS.items()]
    note = (
        f"above: median of {count(curves, 'problems')}, thin: each of them; "
        f"below: {t_note(results, 'problems')}"
    )
    add_legend(figure, handles, note=note)
    return figure


def _label(factors: Where) -> str:
    return LABELS[str(factors["optimizer"])]


def _colour(factors: Where) -> str:
    return COLOURS[str(factors["optimizer"])]


def answer(results: pd.DataFrame) -> str:
    """The cosines of two methods, retrieval, and the margins of sign descent."""
    gd, ngd = (mean_of(results, where, "cosine_frobenius") for where in (GD, NGD))
    retrieved = mean_of(results, GD, "retrieved")
    own, other = (mean_of(results, SIGN, f"margin_{norm}") for norm in ("max", "frobenius"))
    return (
        f"Attention turns to its graph SVM (cosine {decimal(gd, 3)}, {decimal(ngd, 3)} when "
        f"normalised)\nand retrieves by its order in unseen contexts ({decimal(retrieved, 3)}); "
        f"sign descent has {decimal(own)}\nof the largest margin in the max norm, {decimal(other)} "
        "in the Frobenius norm"
    )
