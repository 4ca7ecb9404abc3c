"""The share that copies in the swap test and accuracy, a row of dots for each recipe."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.el_muon.claims import CE, COPIES, HARD
from experiments.harness.figures import (
    count_fitted,
    draw_dots,
    figure_answering,
    in_words,
    lines_in,
    stated,
    t_note,
)
from experiments.harness.names import name_of
from experiments.harness.tables import Where, cells, levels

PANELS = {
    COPIES: ("swap test", "share that copies"),
    HARD: ("unseen hard strings", "share that is right"),
}
NAMES = {"sgd": "SGD", "signum": "Signum", "adamw": "AdamW", "muon": "Muon"}


def plot(results: pd.DataFrame) -> Figure:
    """A row for each optimizer, loss and warm-up."""
    rows = lines_in(results, _by_optimizer(results), _name)
    figure, axes = figure_answering(
        answer(results), 1, 2, size=(8.4, 1.6 + 0.19 * len(rows)), share_x=True, share_y=True
    )
    for ax, (metric, (_, label)) in zip(axes[0], PANELS.items(), strict=True):
        draw_dots(ax, results, metric, rows)
        ax.set(xlim=(-0.02, 1.03), xlabel=label)
    add_titles(axes.ravel(), [title for title, _ in PANELS.values()])
    add_note(
        figure,
        f"dots: a run each, with its own data and network; diamonds: mean, {t_note(results)}, "
        "filled: with warm-up",
    )
    return figure


def _by_optimizer(results: pd.DataFrame) -> list[Where]:
    order = [*NAMES]
    found = cells(results, {})
    return sorted(found, key=lambda c: (order.index(c["optimizer"]), c["loss"], c["warmup_steps"]))


def _name(cell: Where) -> str:
    shown = {f: level for f, level in cell.items() if f not in ("optimizer", "lam")}
    return f"{NAMES[cell['optimizer']]}, {name_of(shown)}"


def answer(results: pd.DataFrame) -> str:
    """The share that cross-entropy with warm-up copies by optimizer, and how many runs fit."""
    warm = CE | {"warmup_steps": levels(results, "warmup_steps")[-1]}  # smoke: short
    said = in_words(
        f"{stated(results, warm | {'optimizer': name}, COPIES)} under {NAMES[name]}"
        for name in reversed(NAMES)
    )
    return (
        "Where padding and letter disagree, cross-entropy with warm-up copies\n"
        f"{said} ({count_fitted(results)} runs fit)"
    )
