"""Share that copies at equal fit and at the end, and the time of fit: a row for each method."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.el_copy_fit.claims import AT_FIT, COPIES, at
from experiments.el_copy_fit.run import METHOD_NAMES
from experiments.el_methods.plot import rows
from experiments.harness.figures import (
    count_fitted,
    draw_dots,
    figure_answering,
    in_words,
    stated,
    t_note,
)

PANELS = {
    AT_FIT: "copies when it first fits",
    COPIES: "copies at the end",
    "fitted_step": "updates until it fits",
}
SHOWN = ("cross-entropy", "E1", "weight decay", "Muon")


def plot(results: pd.DataFrame) -> Figure:
    """Three panels with the same rows."""
    lines = rows(results, METHOD_NAMES)
    size = (9.6, 1.5 + 0.3 * len(lines))
    figure, axes = figure_answering(answer(results), 1, len(PANELS), size=size)
    for ax, metric in zip(axes[0], PANELS, strict=True):
        draw_dots(ax, results, metric, lines)
    for ax in axes[0, 1:]:
        ax.set_yticklabels([])
    for ax in axes[0, :2]:
        ax.set_xlim(-0.03, 1.03)
    add_titles(axes.ravel(), [*PANELS.values()])
    add_note(figure, f"share of the swap test; {t_note(results, 'data sets')}")
    return figure


def answer(results: pd.DataFrame) -> str:
    """The share that methods copy at equal fit and at the end, and how many runs fit."""

    def shown(metric: str) -> str:
        return in_words(f"{name} {stated(results, at(name), metric)}" for name in SHOWN)

    return (
        f"When they first fit, runs copy: {shown(AT_FIT)};\nat the end: {shown(COPIES)}. "
        f"{count_fitted(results)} fit"
    )
