"""The share that copies in the swap test, a row of dots for each method, best first."""

from collections.abc import Iterable

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.el_methods.claims import BOUNDED, COPIES, HARD, at
from experiments.el_methods.run import METHODS
from experiments.harness.figures import (
    Line,
    count_fitted,
    draw_dots,
    figure_answering,
    in_words,
    lines_in,
    stated,
    t_note,
)
from experiments.harness.tables import Where, select

PANELS = {COPIES: "swap test: share that copies", HARD: "unseen hard strings: share that is right"}
COLOURS = {"bounded": "#0072b2", "loss": "#e69f00", "weighting": "#cc79a7"}
COLOURS |= {"optimizer": "#009e73", "setting": "#7f7f7f"}


def plot(results: pd.DataFrame) -> Figure:
    """Two panels, whose rows are ordered by the share that copies."""
    lines = rows(results, ranked(results))
    size = (9.0, 1.4 + 0.27 * len(lines))
    figure, axes = figure_answering(answer(results), 1, 2, size=size, share_x=True)
    for ax, metric in zip(axes[0], PANELS, strict=True):
        draw_dots(ax, results, metric, lines)
    axes[0, 1].set_yticklabels([])
    add_titles(axes.ravel(), [*PANELS.values()])
    add_note(
        figure,
        "blue: losses with a finite equilibrium margin; orange: other losses; pink: weights of "
        "windows or groups;\ngreen: optimizers, noise and decay; grey: network and schedule; "
        f"{t_note(results, 'data sets')}",
    )
    return figure


def rows(results: pd.DataFrame, methods: Iterable[str]) -> list[Line]:
    """Methods by name, number and learning rate, in the colours of their kinds."""
    return lines_in(results, map(at, methods), _label, _colour)


def ranked(results: pd.DataFrame) -> list[str]:
    """The measured methods, those that copy most first."""
    means = select(results, {}, COPIES).groupby("method")["value"].mean()
    return sorted((name for name in METHODS if name in means), key=lambda name: -means[name])


def answer(results: pd.DataFrame) -> str:
    """The three best, cross-entropy, and how many runs fit."""
    order = ranked(results)
    named = [*order[:3], *({"cross-entropy"} - {*order[:3]})]
    shown = in_words(f"{name} {stated(results, at(name), COPIES)}" for name in named)
    return f"Copied in the swap test: {shown};\n{count_fitted(results)} runs fit"


def _label(cell: Where) -> str:
    method = METHODS[str(cell["method"])]
    number = f" {cell[method.number]:g}" if method.number else ""
    return f"{cell['method']}{number}, η = {cell['peak_lr']:g}"


def _colour(cell: Where) -> str:
    name = str(cell["method"])
    return COLOURS["bounded" if name in BOUNDED else METHODS[name].kind]
