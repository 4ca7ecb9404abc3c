"""Separable pairs by embedding, and gradient descent on its way to the infimum."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.harness.figures import (
    Line,
    count,
    decimal,
    draw_dots,
    draw_medians,
    figure_answering,
    keys,
    mean_of,
)
from experiments.ntp_limit.claims import ABOVE, BAG, COSINE, SHARE
from experiments.ntp_limit.run import setting

BAGS, PLACES = "bag of words", "words at positions"
LINES = [
    Line(f"{BAGS}, T = 2", setting("bag_of_words", 2), "#0072b2"),
    Line(f"{BAGS}, T = 3", setting("bag_of_words", 3), "#56b4e9"),
    Line(f"{PLACES}, T = 2", setting("one_hot_positions", 2), "#d55e00"),
    Line(f"{PLACES}, T = 3", setting("one_hot_positions", 3), "#e69f00"),
]


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Shares of pairs; loss above the infimum and cosine with the max margin along training."""
    figure, axes = figure_answering(answer(results), 1, 3, size=(10.2, 3.6))
    share, above, cosine = axes[0]
    draw_dots(share, results, SHARE, LINES)
    share.set_xlabel("share of pairs (context, token outside)")
    for ax, metric, words in ((above, ABOVE, "nats"), (cosine, COSINE, "cosine")):
        draw_medians(ax, curves, metric, LINES)
        ax.set(xscale="log", xlabel="steps of gradient descent", ylabel=words)
    above.set_yscale("log")
    add_titles(axes[0], ["separable", "cross-entropy above its infimum", "with the max margin"])
    note = f"thick: median of {count(results, 'passages')}, thin: each of them"
    add_legend(figure, keys(LINES), num_columns=4, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The share separated and the end of gradient descent, of bags of two words."""
    share, above, cosine = (mean_of(results, BAG, metric) for metric in (SHARE, ABOVE, COSINE))
    return (
        f"No decoder separates bags of two words; training separates {decimal(share)} of their "
        f"pairs,\ncomes within {decimal(above, 4)} nats of the infimum, and turns to the max "
        f"margin of those pairs (cosine {decimal(cosine)})"
    )
