"""Accuracy on unseen hard strings, and the share that copies, by the number of easy strings."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_easy_strings.claims import (
    ALONE,
    CE,
    COPIES,
    DECAY,
    E1,
    HARD,
    PASSES,
    UPDATES,
)
from experiments.el_easy_strings.run import NUM_TRAIN
from experiments.harness.figures import (
    Line,
    count_fitted,
    draw_against,
    figure_answering,
    stated,
    t_note,
)
from experiments.harness.tables import levels

COLOURS = {CE: "#000000", E1: "#0072b2", DECAY: "#d55e00"}
LABELS = {DECAY: "heavy decay"}
MEASURES = {HARD: "share that is right (unseen hard)", COPIES: "share that copies (swap test)"}
EQUAL = {"as many updates": UPDATES, "as many passes over hard strings": PASSES}


def plot(results: pd.DataFrame) -> Figure:
    """A row for each measure; a column for equal updates and one for equal passes."""
    figure, axes = figure_answering(answer(results), 2, 2, size=(8.6, 5.8), share_y=True)
    strings = levels(results, "num_train")
    for row, (metric, label) in zip(axes, MEASURES.items(), strict=True):
        for ax, equal in zip(row, EQUAL.values(), strict=True):
            lines = [
                Line(LABELS.get(name, name), {"method": name, **equal}, colour, filled=True)
                for name, colour in COLOURS.items()
            ]
            draw_against(ax, results, metric, lines, "num_train")
            ax.set_xscale("log", base=2)
            ax.set_xticks(strings, [f"{n - ALONE:g}" for n in strings])
            ax.minorticks_off()
        row[0].set(ylabel=label, ylim=(-0.03, 1.03))
    for ax in axes[-1]:
        ax.set_xlabel(f"easy training strings, beside some {ALONE:g} hard ones")
    add_titles(axes.ravel(), [*EQUAL, *EQUAL])
    fit = f"{count_fitted(results)} runs fit"
    note = f"dots: a run each; diamonds: mean, {t_note(results, 'data sets')}; {fit}"
    handles = axes[0, 0].get_legend_handles_labels()[0]
    add_legend(figure, handles, num_columns=len(COLOURS), note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The accuracy of cross-entropy and of heavy decay with 0, 320 and 720 easy strings."""

    def shown(method: str, equal: dict[str, int]) -> str:
        wheres = [{"method": method, "num_train": NUM_TRAIN[s], **equal} for s in (0.0, 0.8, 0.9)]
        first, second, third = (stated(results, where, HARD) for where in wheres)
        return f"{first}, {second}, {third}"

    return (
        f"Beside 0, 320, 720 easy strings cross-entropy gets {shown(CE, UPDATES)} of unseen hard "
        f"ones right\nat as many updates, {shown(CE, PASSES)} at as many passes; "
        f"heavy decay {shown(DECAY, UPDATES)} at as many updates"
    )
