"""The share that copies and the loss on unseen strings against the learning rate."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_rates.claims import (
    CE,
    COPIES,
    E1,
    HARD,
    LOSS,
    MEAN_COPIES,
    NORMED,
    SENSITIVITY,
    UNIFORM,
    derived,
)
from experiments.harness.figures import (
    Line,
    draw_against,
    figure_answering,
    in_words,
    stated,
    t_note,
)
from experiments.harness.tables import levels

PANELS = {
    COPIES: "swap test: share that copies",
    HARD: "unseen hard strings that are right",
    LOSS: "cross-entropy of unseen strings (nats)",
}
RECIPES = {
    "cross-entropy": (CE, "#000000"),
    "cross-entropy, qk-norm": (NORMED, "#cc79a7"),
    "E1": (E1, "#0072b2"),
}


def plot(results: pd.DataFrame) -> Figure:
    """One panel for each, with a line for each recipe."""
    cold, warm = ({"warmup_steps": steps} for steps in levels(results, "warmup_steps"))
    lines = [
        Line(name + words, recipe | warm_up, colour, style, filled)
        for words, warm_up, style, filled in (
            (", warm-up", warm, "-", True),
            ("", cold, "--", False),
        )
        for name, (recipe, colour) in RECIPES.items()
    ]
    title = answer(derived(results), (cold, warm))
    figure, axes = figure_answering(title, 1, 3, size=(12, 4.2))
    for ax, metric in zip(axes[0], PANELS, strict=True):
        draw_against(ax, results, metric, lines, "peak_lr")
        ax.set_xscale("log")
        ax.set_xlabel("peak learning rate")
    for ax in axes[0, :2]:
        ax.set_ylim(-0.03, 1.03)
    axes[0, 2].axhline(UNIFORM, color="#8c8c8c", lw=0.8, ls=":")
    add_titles(axes.ravel(), [*PANELS.values()])
    handles, _ = axes[0, 0].get_legend_handles_labels()
    note = (
        f"dots: a run each; diamonds: mean, {t_note(results, 'data sets')}; dotted: uniform guess"
    )
    add_legend(figure, handles, num_columns=3, note=note)
    return figure


def answer(summary: pd.DataFrame, warm_ups: Sequence[dict[str, Any]]) -> str:
    """What the losses copy on average over rates, and their sensitivities, by warm-up."""

    def pair(recipe: dict[str, Any], metric: str) -> str:
        return in_words(stated(summary, recipe | one, metric) for one in warm_ups)

    return (
        "Averaged over learning rates, without and with warm-up:\n"
        f"cross-entropy copies {pair(CE, MEAN_COPIES)}, E1 {pair(E1, MEAN_COPIES)};\n"
        f"sensitivity to the rate {pair(CE, SENSITIVITY)} and {pair(E1, SENSITIVITY)} nats"
    )
