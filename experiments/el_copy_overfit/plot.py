"""Accuracy on unseen hard strings, and the share that copies, a row of dots for each recipe."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.el_copy_overfit.claims import CE, COPIES, E1, E2, HARD, PROTOCOL
from experiments.el_copy_overfit.run import ARMS
from experiments.harness.figures import decimal, draw_dots, figure_answering, mean_of, t_note
from experiments.harness.names import name_of
from experiments.harness.tables import Where, levels, read_table

CHANCE = 1 / 26
PANELS = {HARD: "right on unseen hard strings", COPIES: "copies in the swap test"}


def plot(out: Path) -> Figure:
    """A row for each arm that has been measured."""
    results = read_table(out / "results.csv")
    arms = [arm for arm in ARMS if arm in levels(results, "arm")]
    figure, axes = figure_answering(
        answer(results), len(arms), 2, size=(8.4, 1.6 + 2.1 * len(arms)), share_x=True
    )
    recipes = [
        loss | {"warmup_steps": steps}
        for loss in (CE, E1, E2)
        for steps in levels(results, "warmup_steps")
    ]
    for arm, row in zip(arms, axes, strict=True):
        for ax, metric in zip(row, PANELS, strict=True):
            draw_dots(
                ax,
                results,
                metric,
                [recipe | {"arm": arm} for recipe in recipes],
                label=_recipe,
                chance=CHANCE if metric == HARD else None,
            )
            ax.set_xlim(-0.02, 1.03)
    for ax, label in zip(axes[-1], PANELS.values(), strict=True):
        ax.set_xlabel(f"share {label}")
    add_titles(axes.ravel(), [f"{arm}: {label}" for arm in arms for label in PANELS.values()])
    add_note(
        figure,
        f"dots: a run each, with its own data and network; diamonds: mean, {t_note(results)}, "
        "filled: with warm-up",
    )
    return figure


def _recipe(cell: Where) -> str:
    return name_of({f: level for f, level in cell.items() if f not in ("peak_lr", "arm")})


def answer(results: pd.DataFrame) -> str:
    """The accuracies and the shares that copy of cross-entropy and E1, both with warm-up."""
    warm = {"warmup_steps": levels(results, "warmup_steps")[-1]}  # a smoke run's is short
    shown = [
        decimal(mean_of(results, loss | warm | PROTOCOL, metric))
        for metric in (HARD, COPIES)
        for loss in (CE, E1)
    ]
    return (
        "All training strings fitted: with warm-up cross-entropy is right on {} of unseen hard "
        "strings, E1 on {};\nwhere padding and letter disagree they copy {} and {}"
    ).format(*shown)
