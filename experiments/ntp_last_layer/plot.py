"""Margins of last layers, as shares of the largest on their features, over time and by norm."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.harness.figures import (
    Line,
    draw_dots,
    draw_means,
    figure_answering,
    in_words,
    key,
    stated,
    t_note,
)
from experiments.harness.tables import is_measured
from experiments.ntp_last_layer.claims import at
from experiments.ntp_last_layer.run import FROBENIUS, MAX, METHODS, SHARES, UNTRAINED

PALETTE = "#000000", "#009e73", "#d55e00", "#cc79a7", "#0072b2"
TRAINED = [name for name in METHODS if name != UNTRAINED]
LINES = [Line(name, at(name), ink) for name, ink in zip(TRAINED, PALETTE, strict=True)]
WORDS = {FROBENIUS: "Frobenius norm", MAX: "max norm"}


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Left: the Frobenius share along training. Middle and right: both shares at the end."""
    figure, axes = figure_answering(answer(results), 1, 3, size=(10.6, 3.5))
    lines = [line for line in LINES if is_measured(results, line.where, FROBENIUS)]
    draw_means(axes[0, 0], curves, FROBENIUS, lines)
    axes[0, 0].axhline(0.0, color="black", linewidth=0.8)
    axes[0, 0].set(xlabel="updates", ylim=(-1.03, 1.03))
    for ax, norm in zip(axes[0, 1:], SHARES, strict=True):
        draw_dots(ax, results, norm, lines)
        ax.set(xlabel="share of the largest margin", xlim=(-0.03, 1.03))
    ends = [f"at the end: {WORDS[norm]}" for norm in SHARES]
    add_titles(axes.ravel(), ["along training: Frobenius norm", *ends])
    note = f"least margin over that of the best last layer; {t_note(results, 'data sets')}"
    add_legend(figure, [key(one.label, one.colour) for one in lines], num_columns=5, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """Both shares of every method at the end."""
    shown = [name for name in TRAINED if is_measured(results, at(name), FROBENIUS)]
    parts = (
        f"{WORDS[norm]}: {in_words(f'{n} {stated(results, at(n), norm)}' for n in shown)}"
        for norm in SHARES
    )
    return "Share of the largest margin on its features that the last layer has\n" + ";\n".join(
        parts
    )
