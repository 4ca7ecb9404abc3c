"""Accuracy on unseen sentences by number of training sentences."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_hierarchy.claims import FITTED, UNSEEN, at
from experiments.harness.figures import (
    Line,
    count_fitted,
    draw_against,
    figure_answering,
    in_words,
    keys,
    stated,
    t_note,
    ticks_at,
)
from experiments.harness.tables import levels

LINES = [
    Line(name, at(name), colour, style, filled=style == "-")
    for name, colour, style in (
        ("cross-entropy", "#000000", "-"),
        ("E1", "#0072b2", "-"),
        ("weight decay", "#d55e00", "-"),
        ("Muon", "#000000", "--"),
        ("Muon, E1", "#0072b2", "--"),
    )
]
FEW = 1_024


def plot(results: pd.DataFrame) -> Figure:
    """A line for each recipe."""
    figure, ((ax,),) = figure_answering(answer(results), size=(7.4, 4.0))
    draw_against(ax, results, UNSEEN, LINES, "num_train")
    ticks_at(ax, levels(results, "num_train"), base=2)
    ax.set(xlabel="training sentences", ylim=(-0.03, 1.03))
    add_titles([ax], ["unseen sentences: share that is right"])
    note = f"solid: AdamW, dashed: Muon; {t_note(results, 'hierarchies')}"
    add_legend(figure, keys(LINES), num_columns=5, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The accuracy of each recipe on unseen sentences, with a few training sentences."""
    sizes = levels(results, "num_train")
    few = FEW if FEW in sizes else sizes[0]
    shown = in_words(
        f"{stated(results, at(name, num_train=few), UNSEEN)} ({name})" for name, *_ in LINES
    )
    return (
        f"Trained on {few:,g} sentences of a hierarchy, right on unseen ones are\n"
        f"{shown}.\n{count_fitted(results, FITTED)} runs fit"
    )
