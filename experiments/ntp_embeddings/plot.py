"""Cosines with two max margins along both paths, and the collapse of embeddings."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles, plot_median
from experiments.harness.figures import (
    count,
    curve_of,
    figure_answering,
    key,
    stated,
)
from experiments.ntp_embeddings.claims import DESCENT, RIDGE

COLOURS = {"cosine_nuclear": "#0072b2", "cosine_frobenius": "#8c8c8c", "collapse": "#d55e00"}
LABELS = {
    "cosine_nuclear": "logits with the max margin in the nuclear norm",
    "cosine_frobenius": "with that in the Frobenius norm, the centred support matrix",
    "collapse": "embeddings of contexts of one support with each other",
}


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """One panel for each path; a cosine of 1 is at the bottom of the logarithmic axis."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(8.6, 3.8), share_y=True)
    for ax, where in zip(axes[0], (RIDGE, DESCENT), strict=True):
        _draw(ax, curves, where)
    axes[0, 0].set_xlabel("ridge λ")
    powers = curve_of(curves, RIDGE, "collapse").steps
    axes[0, 0].set_xticks(powers, [f"$10^{{-{power:g}}}$" for power in powers])
    axes[0, 1].set_xlabel("updates")
    axes[0, 1].set_xscale("log")
    axes[0, 0].set_ylabel("1 − cosine")
    add_titles(axes[0], ["minimisers as the ridge goes to 0", "gradient descent without ridge"])
    handles = [key(label, COLOURS[metric]) for metric, label in LABELS.items()]
    note = f"thick: median of {count(curves, 'problems')}, thin: each of them"
    add_legend(figure, handles, num_columns=1, note=note)
    return figure


def _draw(ax: Axes, curves: pd.DataFrame, where: dict[str, str]) -> None:
    for metric, colour in COLOURS.items():
        curve = curve_of(curves, where, metric)
        plot_median(ax, curve._replace(values=1 - curve.values), colour=colour)
    ax.set_yscale("log")


def answer(results: pd.DataFrame) -> str:
    """The cosines at the end of both paths."""
    ridge, descent = (
        [stated(results, where, metric, 3) for metric in COLOURS] for where in (RIDGE, DESCENT)
    )
    return (
        f"With learnt embeddings logits turn to the nuclear max margin (cosine {ridge[0]} at the\n"
        f"least ridge, {descent[0]} by descent; Frobenius {ridge[1]}, {descent[1]}); "
        f"contexts of one support\ncome together (cosine {ridge[2]}, {descent[2]})"
    )
