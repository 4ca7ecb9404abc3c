"""Entropy and least dimensions against the length of contexts; margin against d / m."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import (
    DASHED,
    SPARE_COLOURS,
    THEORY_COLOUR,
    add_note,
    add_panel_legend,
    add_titles,
)
from experiments.harness.figures import Line, draw_against, figure_answering, stated, t_note
from experiments.harness.tables import levels, select
from experiments.ntp_text.claims import GAUSSIAN

EMBEDDINGS = [
    Line("words in order", GAUSSIAN, "#000000"),
    Line("bag of words", {"embedding": "bag_of_words"}, "#cc79a7"),
]
TITLES = ("Uncertainty of the next word", "Dimensions needed", "Margin reached")


def plot(results: pd.DataFrame) -> Figure:
    """Three panels; bars are intervals over passages."""
    lengths = levels(results, "context_length")
    figure, axes = figure_answering(answer(results), 1, 3, size=(8.4, 3.9))
    entropy, dimensions, margins = axes[0]
    draw_against(entropy, results, "entropy", EMBEDDINGS, "context_length")
    for what, colour in (("separable", "#e69f00"), ("compatible", "#0072b2")):
        line = Line(what, GAUSSIAN, colour)
        draw_against(dimensions, results, f"{what}_from_share", [line], "context_length")
    by_length = [
        Line(f"T = {T}", {"embedding": "gaussian", "context_length": T}, colour)
        for T, colour in zip(lengths, SPARE_COLOURS, strict=False)
    ]
    draw_against(margins, results, "margin_share", by_length, "dim_ratio")
    for ax, label in ((dimensions, "Lemma 1: both hold"), (margins, "orthonormal contexts")):
        ax.axhline(1, color=THEORY_COLOUR, linestyle=DASHED, linewidth=1.2, label=label)
        ax.set_ylim(0, 1.1)
    for ax in (entropy, dimensions):
        ax.set(xlabel="context length T, words", xticks=lengths)
    entropy.set(ylabel="entropy, nats", ylim=(0, None))
    dimensions.set(ylabel="least d / m")
    margins.set(xlabel="dimension / contexts, d / m", ylabel="margin / that if orthonormal")
    for ax in axes[0]:
        ax.margins(x=0.12)  # room for the dots
        add_panel_legend(ax)
    add_titles(axes[0], TITLES)
    passages = t_note(select(results, {"dim_ratio": None}), "passages")
    add_note(
        figure, f"bars: {passages} of Genesis, dots: a passage each; m contexts in d dimensions"
    )
    return figure


def answer(results: pd.DataFrame) -> str:
    """The share of Lemma 1's dimensions that the shortest and longest contexts need to separate."""
    lengths = levels(results, "context_length")
    shown = ", ".join(
        stated(results, GAUSSIAN | {"context_length": T}, "separable_from_share") + f" m (T = {T})"
        for T in (lengths[0], lengths[-1])
    )
    return f"Text separates from d = {shown}; Lemma 1 asks for d = m"
