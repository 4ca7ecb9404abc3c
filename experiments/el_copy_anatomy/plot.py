"""The course of training, one row per setting: fit, gradient, accuracy and mechanism."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import DASHED, SOLID, add_chance_line, add_legend, add_titles
from experiments.el_copy_anatomy.run import METHOD_NAMES
from experiments.harness.figures import (
    Line,
    colour_of,
    curve_of,
    decimal,
    draw_means,
    figure_answering,
    in_words,
    key,
    t_note,
)
from experiments.harness.tables import Where, cells, exactly

# a column of panels: the metrics of strings that it draws, in the line style of their group
COLUMNS: dict[str, dict[str, Any]] = {
    "training strings": {"train_easy_accuracy": DASHED, "train_hard_accuracy": SOLID},
    "gradient of hard ones": {"train_hard_gradient_share": SOLID},
    "unseen strings": {"test_easy_accuracy": DASHED, "test_hard_accuracy": SOLID},
    "swap test": {},
}
# the last column has strings of one kind, so that colours tell its answers apart
ANSWERS = {
    "swap_undoes_shift": ("#cc79a7", "answers by the padding"),
    "swap_copies": ("#009e73", "copies the letter"),
}
LABELS = {"weight decay": "heavy decay"}
HARD_FRACTION = 0.2  # of all strings: their gradient share if all tokens had equal gradients
CHANCE = 1 / 26


def plot(curves: pd.DataFrame) -> Figure:
    """Columns: accuracy in training, gradient share, accuracy on unseen strings, swap test."""
    settings = _settings(curves)
    size = (8.4, 1.5 + 1.75 * len(settings))
    figure, axes = figure_answering(
        answer(curves), len(settings), len(COLUMNS), size=size, share_x=True, share_y=True
    )
    for setting, row in zip(settings, axes, strict=True):
        method = str(setting["method"])
        line = Line(LABELS.get(method, method), exactly(curves, setting), colour_of(setting))
        for ax, metrics in zip(row, COLUMNS.values(), strict=True):
            for metric, style in metrics.items():
                draw_means(ax, curves, metric, [line._replace(style=style)])
        for metric, (colour, _) in ANSWERS.items():
            draw_means(row[-1], curves, metric, [line._replace(colour=colour)])
        row[0].set_ylabel(line.label)
        add_chance_line(row[1], HARD_FRACTION, name="of tokens")
        add_chance_line(row[2], CHANCE, label=False)
        add_chance_line(row[3], CHANCE)
    axes[0, 0].set(xscale="log", ylim=(0.0, 1.03))
    for ax in axes[-1]:
        ax.set_xlabel("updates")
    add_titles(axes.ravel(), [*COLUMNS] * len(settings))
    note = (
        f"means, bands: {t_note(curves)}; gradient: the hard strings' share of the squared one\n"
        "swap test: share of answers where the padding says another letter than the one to copy"
    )
    add_legend(figure, _handles(), num_columns=4, note=note)
    return figure


def answer(curves: pd.DataFrame) -> str:
    """Share of copied answers of every method in the swap test, at the last step."""
    shown = in_words(
        f"{decimal(curve_of(curves, exactly(curves, one), 'swap_copies').values[:, -1].mean())} "
        f"({LABELS.get(one['method'], one['method'])})"
        for one in _settings(curves)
    )
    return (
        "All learn easy strings first, then fit the hard ones; in the end runs copy,\n"
        f"of the swap test, {shown}"
    )


def _settings(curves: pd.DataFrame) -> list[Where]:
    """The methods in the order of the study."""
    return sorted(cells(curves, {}), key=lambda one: METHOD_NAMES.index(one["method"]))


def _handles() -> list[Line2D]:
    groups = {"easy strings": DASHED, "hard strings": SOLID}
    answers = {label: colour for colour, label in ANSWERS.values()}
    return [
        *(key(n, "black", style=s) for n, s in groups.items()),
        *(key(f"(swap test) {n}", c) for n, c in answers.items()),
    ]
