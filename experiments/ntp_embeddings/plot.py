"""Cosines with two max margins along both paths, and the collapse of embeddings."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.harness.figures import (
    Line,
    count,
    curve_of,
    draw_medians,
    figure_answering,
    key,
    one_less,
    stated,
)
from experiments.ntp_embeddings.claims import DESCENT, RIDGE

COSINES = {  # label and colour
    "cosine_nuclear": ("logits with the max margin in the nuclear norm", "#0072b2"),
    "cosine_frobenius": (
        "with that in the Frobenius norm, the centred support matrix",
        "#8c8c8c",
    ),
    "collapse": ("embeddings of contexts of one support with each other", "#d55e00"),
}


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """One panel for each path; a cosine of 1 is at the bottom of the logarithmic axis."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(8.6, 3.8), share_y=True)
    for ax, where in zip(axes[0], (RIDGE, DESCENT), strict=True):
        for metric, (label, colour) in COSINES.items():
            draw_medians(ax, curves, metric, [Line(label, where, colour)], of=one_less)
        ax.set_yscale("log")
    axes[0, 0].set_xlabel("ridge λ")
    powers = curve_of(curves, RIDGE, "collapse").steps
    axes[0, 0].set_xticks(powers, [f"$10^{{-{power:g}}}$" for power in powers])
    axes[0, 1].set_xlabel("updates")
    axes[0, 1].set_xscale("log")
    axes[0, 0].set_ylabel("1 − cosine")
    add_titles(axes[0], ["minimisers as the ridge goes to 0", "gradient descent without ridge"])
    handles = [key(label, colour) for label, colour in COSINES.values()]
    note = f"thick: median of {count(curves, 'problems')}, thin: each of them"
    add_legend(figure, handles, num_columns=1, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The cosines at the end of both paths."""
    ridge, descent = (
        [stated(results, where, metric, 3) for metric in COSINES] for where in (RIDGE, DESCENT)
    )
    return (
        f"With learnt embeddings logits turn to the nuclear max margin (cosine {ridge[0]} at the\n"
        f"least ridge, {descent[0]} by descent; Frobenius {ridge[1]}, {descent[1]}); "
        f"contexts of one support\ncome together (cosine {ridge[2]}, {descent[2]})"
    )
