"""The share that copies in the swap test, by number of strings and along long runs."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_decay.claims import COPIES, HARD, at
from experiments.el_decay.run import LONG, LONG_RECIPES
from experiments.harness.figures import (
    Line,
    count_fitted,
    draw_against,
    figure_answering,
    in_words,
    key,
    mean_of,
    stated,
    t_note,
    ticks_at,
)
from experiments.harness.tables import levels

PANELS = {COPIES: "swap test: share that copies", HARD: "unseen hard strings: share that is right"}
COLOURS = {"cross-entropy": "#000000", "E1": "#0072b2", "Muon": "#009e73"}
LINES = [
    line
    for name, colour in COLOURS.items()
    for line in (
        Line(name, at(name), colour, "--"),
        Line(f"{name}, decay", at(f"{name}, decay"), colour, filled=True),
    )
]


def plot(results: pd.DataFrame) -> Figure:
    """Two measures against the number of strings; without decay, hollow and dashed."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(8.6, 3.6), share_y=True)
    strings = levels(results, "num_train")
    for ax, metric in zip(axes[0], PANELS, strict=True):
        draw_against(ax, results, metric, LINES, "num_train")
        for name, face in zip(LONG_RECIPES, ("white", "black"), strict=True):
            mean, place = mean_of(results, at(name, LONG), metric), 1.12 * max(strings)
            ax.plot(place, mean, "*", color="black", markerfacecolor=face, markersize=11)
        ticks_at(ax, strings, base=2)
        ax.set(xlabel="training strings", ylim=(-0.03, 1.03))
    add_titles(axes.ravel(), [*PANELS.values()])
    entries = [key(name, colour) for name, colour in COLOURS.items()]
    entries += [
        key("with heavy decay", "#555555", "o", "-"),
        key("without", "#555555", "o", "--", face="white"),
        key("after 20,000 updates", "#555555", "*", "", face="white"),
    ]
    add_legend(figure, entries, num_columns=6, note=t_note(results, "data sets"))
    return figure


def answer(results: pd.DataFrame) -> str:
    """The share copied with and without decay at the most strings, and how many runs fit."""
    most = max(levels(results, "num_train"))

    def copied(name: str) -> str:
        return stated(results, at(name, num_train=most), COPIES)

    shown = in_words(f"{copied(n)} to {copied(f'{n}, decay')} ({n})" for n in COLOURS)
    return (
        f"With {most:g} strings heavy weight decay takes the share copied in the swap test from\n"
        f"{shown}; {count_fitted(results)} runs fit"
    )
