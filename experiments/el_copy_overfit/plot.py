"""Accuracy on unseen hard strings, and the share that copies, a row of dots for each recipe."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.el_copy_overfit.claims import CE, COPIES, E1, E2, HARD, PROTOCOL
from experiments.el_copy_overfit.run import ARMS, RATE
from experiments.harness.figures import (
    count_fitted,
    draw_dots,
    figure_answering,
    lines_in,
    stated,
    t_note,
)
from experiments.harness.names import name_of
from experiments.harness.tables import Where, levels

PANELS = {HARD: "unseen hard strings", COPIES: "swap test"}
AXES = ("share that is right", "share that copies")


def plot(results: pd.DataFrame) -> Figure:
    """A row for each arm that has been measured."""
    arms = [arm for arm in ARMS if arm in levels(results, "arm")]
    figure, axes = figure_answering(
        answer(results), len(arms), 2, size=(8.4, 1.6 + 2.1 * len(arms)), share_x=True
    )
    for arm, row in zip(arms, axes, strict=True):
        recipes = [
            loss | {"warmup_steps": steps, "arm": arm}
            for loss in (CE, E1, E2)
            for steps in levels(results, "warmup_steps")
        ]
        for ax, metric in zip(row, PANELS, strict=True):
            draw_dots(ax, results, metric, lines_in(results, recipes, _recipe))
            ax.set_xlim(-0.02, 1.03)
    for ax, label in zip(axes[-1], AXES, strict=True):
        ax.set_xlabel(label)
    add_titles(
        axes.ravel(), [f"{label}, {_in_words(arm)}" for arm in arms for label in PANELS.values()]
    )
    add_note(
        figure,
        f"dots: a run each, with its own data and network; diamonds: mean, {t_note(results)}, "
        "filled: with warm-up",
    )
    return figure


def _in_words(arm: str) -> str:
    """An arm's β₂ in words."""
    return f"β₂ = {ARMS[arm].b2:g}".replace("0.", ".")


def _recipe(cell: Where) -> str:
    """Its loss and warm-up; the arm is in the panel's title, and the rate is one for all."""
    said = ("arm", "peak_lr")
    return name_of({factor: level for factor, level in cell.items() if factor not in said})


def answer(results: pd.DataFrame) -> str:
    """The number of runs that fit, and the results of cross-entropy and E1 with warm-up."""
    warm = {"warmup_steps": levels(results, "warmup_steps")[-1], "peak_lr": RATE}  # smoke: short
    shown = [
        stated(results, loss | warm | PROTOCOL, metric)
        for metric in (HARD, COPIES)
        for loss in (CE, E1)
    ]
    ce_right, e1_right, ce_copies, e1_copies = shown
    return (
        f"{count_fitted(results)} runs fit the hard training strings. With warm-up E1 is "
        f"right on {e1_right} of unseen\nones and copies {e1_copies} in the swap test, "
        f"cross-entropy is right on {ce_right} and copies {ce_copies}"
    )
