"""The share that copies and the accuracy on unseen hard strings, a row of dots for each recipe."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.el_groups.claims import COPIES, HARD, at
from experiments.el_groups.run import CE, DECAY, DRO, E1, EQUAL, RECIPES
from experiments.harness.figures import (
    Line,
    count_fitted,
    decimal,
    draw_dots,
    figure_answering,
    in_words,
    lines_in,
    t_note,
)
from experiments.harness.tables import Where, is_measured, levels, select

PANELS = {COPIES: "swap test: copied", HARD: "unseen hard strings: right"}


def plot(results: pd.DataFrame) -> Figure:
    """Two panels for each number of strings."""
    strings = [int(n) for n in levels(results, "num_train")]
    rows = [_rows(results, num) for num in strings]
    size = (9.0, 1.2 + 0.3 * sum(map(len, rows)))
    figure, axes = figure_answering(answer(results), len(strings), 2, size=size, share_x=True)
    for row, lines in zip(axes, rows, strict=True):
        for ax, metric in zip(row, PANELS, strict=True):
            draw_dots(ax, results, metric, lines)
        row[1].set_yticklabels([])
    titles = [f"{num} strings, {panel}" for num in strings for panel in PANELS.values()]
    add_titles(axes.ravel(), titles)
    add_note(
        figure,
        "orange: easy and hard strings weighted as groups; black: cross-entropy; blue: E1; "
        f"{t_note(results, 'data sets')}",
    )
    return figure


def _rows(results: pd.DataFrame, num: int) -> list[Line]:
    """The measured settings with a number of strings, in the order of the recipes."""
    return lines_in(results, (at(name, num_train=num) for name in RECIPES), label, colour)


def label(cell: Where) -> str:
    """The recipe with its decay, step size and learning rate."""
    decay = f" {cell['weight_decay']:g}" if cell["weight_decay"] else ""
    step = f", η_q = {cell['step_size']:g}" if cell["step_size"] else ""
    return f"{cell['recipe']}{decay}{step}, η = {cell['peak_lr']:g}"


def colour(cell: Where) -> str:
    """Orange for weighted groups, the loss's colour otherwise."""
    if RECIPES[str(cell["recipe"])].weighted:
        return "#e69f00"
    return "#0072b2" if cell["recipe"] == E1 else "#000000"


def answer(results: pd.DataFrame) -> str:
    """The shares copied, averaged over the numbers of strings, and how many runs fit."""
    shown = in_words(
        f"{name.replace(', ', ' with ')} {decimal(mean_of_all(results, name))}"
        for name in (CE, EQUAL, DRO, E1, DECAY, f"{DRO}, decay")
        if is_measured(results, at(name), COPIES)
    )
    head, _, tail = shown.rpartition(f", {E1}")
    shown = f"{head},\n{E1}{tail}" if head else shown
    return f"Copied in the swap test: {shown}; {count_fitted(results)} runs fit"


def mean_of_all(results: pd.DataFrame, recipe: str) -> float:
    """The mean share that a recipe copies over the numbers of strings."""
    return float(select(results, at(recipe), COPIES)["value"].mean())
