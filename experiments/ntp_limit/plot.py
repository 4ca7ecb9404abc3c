"""Separable pairs by embedding, and gradient descent on its way to the infimum."""

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
)
from experiments.harness.tables import Where, is_measured
from experiments.ntp_limit.claims import ABOVE, BAG, COSINE, SHARE
from experiments.ntp_limit.run import SETTINGS, setting

NAMES = {"bag_of_words": "bag of words", "one_hot_positions": "words at positions"}
COLOURS = dict(
    zip(
        [(str(e), n) for e, n in SETTINGS["cpu"]],
        ["#0072b2", "#56b4e9", "#d55e00", "#e69f00"],
        strict=True,
    )
)


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Shares of pairs; loss above the infimum and cosine with the max margin along training."""
    figure, axes = figure_answering(answer(results), 1, 3, size=(10.2, 3.6))
    share, above, cosine = axes[0]
    rows = [row for at in COLOURS if is_measured(results, row := setting(*at), SHARE)]
    draw_dots(share, results, SHARE, rows, label=label, colour=colour)
    share.set_xlabel("share of pairs (context, token outside)")
    for ax, metric, words in ((above, ABOVE, "nats"), (cosine, COSINE, "cosine")):
        for row in rows:
            plot_median(ax, curve_of(curves, row, metric), colour=colour(row))
        ax.set_xscale("log")
        ax.set(xlabel="steps of gradient descent", ylabel=words)
    above.set_yscale("log")
    add_titles(axes[0], ["separable", "cross-entropy above its infimum", "with the max margin"])
    add_legend(
        figure,
        [key(label(row), colour(row)) for row in rows],
        num_columns=4,
        note=f"thick: median of {count(results, 'passages')}, thin: each of them",
    )
    return figure


def label(cell: Where) -> str:
    """The embedding and the number of words in a context."""
    return f"{NAMES[str(cell['embedding'])]}, T = {cell['context_length']:g}"


def colour(cell: Where) -> str:
    """The same in every panel."""
    return COLOURS[str(cell["embedding"]), int(cell["context_length"])]


def answer(results: pd.DataFrame) -> str:
    """The share separated and the end of gradient descent, of bags of two words."""
    share, above, cosine = (mean_of(results, BAG, metric) for metric in (SHARE, ABOVE, COSINE))
    return (
        f"No decoder separates bags of two words; training separates {decimal(share)} of their "
        f"pairs,\ncomes within {decimal(above, 4)} nats of the infimum, and turns to the max "
        f"margin of those pairs (cosine {decimal(cosine)})"
    )
