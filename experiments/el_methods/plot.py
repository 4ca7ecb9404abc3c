"""The share that copies in the swap test, a row of dots for each method, best first."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.el_methods.claims import BOUNDED, COPIES, FITTED, HARD, at
from experiments.el_methods.run import METHODS
from experiments.harness.figures import (
    count_fitted,
    decimal,
    draw_dots,
    figure_answering,
    in_words,
    t_note,
)
from experiments.harness.tables import Where, is_measured, select

PANELS = {COPIES: "swap test: share that copies", HARD: "unseen hard strings: share that is right"}
COLOURS = {"bounded": "#0072b2", "loss": "#e69f00", "weighting": "#cc79a7", "optimizer": "#009e73"}


def plot(results: pd.DataFrame) -> Figure:
    """Two panels, whose rows are ordered by the share that copies."""
    order = ranked(results)
    size = (9.0, 1.4 + 0.27 * len(order))
    figure, axes = figure_answering(answer(results), 1, 2, size=size, share_x=True)
    for ax, metric in zip(axes[0], PANELS, strict=True):
        draw_dots(ax, results, metric, [at(name) for name in order], label=label, colour=colour)
    axes[0, 1].set_yticklabels([])
    add_titles(axes.ravel(), [*PANELS.values()])
    add_note(
        figure,
        "blue: losses with a finite equilibrium margin; orange: other losses; pink: weights of "
        f"windows; green: optimizers, noise and decay;\n{t_note(results, 'data sets')}",
    )
    return figure


def ranked(results: pd.DataFrame) -> list[str]:
    """The measured methods, those that copy most first."""
    measured = [name for name in METHODS if is_measured(results, at(name), COPIES)]
    means = {name: select(results, at(name), COPIES)["value"].mean() for name in measured}
    return sorted(measured, key=lambda name: -means[name])


def answer(results: pd.DataFrame) -> str:
    """The three best, cross-entropy, and how many runs fit."""
    order = ranked(results)
    shown = in_words(
        f"{name} {decimal(select(results, at(name), COPIES)['value'].mean())}"
        for name in [*order[:3], *({"cross-entropy"} - {*order[:3]})]
    )
    return f"Copied in the swap test: {shown};\n{count_fitted(results, FITTED)} runs fit"


def label(cell: Where) -> str:
    """The method with its number and learning rate."""
    method = METHODS[str(cell["method"])]
    number = f" {cell[method.number]:g}" if method.number else ""
    return f"{cell['method']}{number}, η = {cell['peak_lr']:g}"


def colour(cell: Where) -> str:
    """The colour of the method's kind."""
    name = str(cell["method"])
    return COLOURS["bounded" if name in BOUNDED else METHODS[name].kind]
