"""The course of the weights towards both limits, and their margins in two norms."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.harness.figures import (
    Line,
    count,
    draw_dots,
    draw_medians,
    figure_answering,
    keys,
    one_less,
    stated,
    t_note,
)
from experiments.ntp_attention.claims import GD, NGD, SIGN
from experiments.ntp_attention.run import NORMS

LINES = (
    Line("gradient descent", GD, "#000000"),
    Line("normalised", NGD, "#0072b2"),
    Line("sign descent", SIGN, "#d55e00"),
)
TITLES = (
    "1 − cosine with the graph SVM",
    "distance in cycles",
    "margin over the largest, Frobenius norm",
    "margin over the largest, max norm",
)


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Two courses, then a panel of dots for each norm."""
    figure, axes = figure_answering(answer(results), 2, 2, size=(8.6, 5.6))
    draw_medians(axes[0, 0], curves, "cosine_frobenius", LINES, of=one_less)
    draw_medians(axes[0, 1], curves, "finite_error", LINES)
    for ax in axes[0]:
        ax.set(xscale="log", yscale="log", xlabel="updates")
    axes[0, 1].set_ylim(bottom=1e-5)
    for ax, norm in zip(axes[1], NORMS, strict=True):
        draw_dots(ax, results, f"margin_{norm}", LINES)
        ax.set_xlim(0, 1.03)
    axes[1, 1].set_yticklabels([])
    add_titles(axes.ravel(), TITLES)
    note = (
        f"above: median of {count(curves, 'problems')}, thin: each of them; "
        f"below: {t_note(results, 'problems')}"
    )
    add_legend(figure, keys(LINES), note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The cosines of two methods, retrieval, and the margins of sign descent."""
    gd, ngd = (stated(results, where, "cosine_frobenius", 3) for where in (GD, NGD))
    own, other = (stated(results, SIGN, f"margin_{norm}") for norm in ("max", "frobenius"))
    return (
        f"Attention turns to its graph SVM (cosine {gd}, {ngd} when normalised)\nand retrieves by "
        f"its order in unseen contexts ({stated(results, GD, 'retrieved', 3)}); sign descent has "
        f"{own}\nof the largest margin in the max norm, {other} in the Frobenius norm"
    )
