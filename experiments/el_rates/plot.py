"""Share that copies, accuracy and loss against the learning rate."""

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
    UNIFORM,
    derived,
)
from experiments.harness.figures import (
    Line,
    draw_against,
    figure_answering,
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
    figure, axes = figure_answering(answer(results, warm), 1, 3, size=(12.0, 4.2))
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


def answer(results: pd.DataFrame, warm: dict[str, Any]) -> str:
    """What each recipe copies with warm-up, on average over rates, and qk-norm at the highest."""
    summary = derived(results)
    ce, normed, e1 = (stated(summary, recipe | warm, MEAN_COPIES) for recipe, _ in RECIPES.values())
    highest = NORMED | warm | {"peak_lr": levels(results, "peak_lr")[-1]}
    return (
        "With warm-up, averaged over learning rates, runs copy, of the swap test,\n"
        f"{ce} under cross-entropy, {e1} under E1 and {normed} under cross-entropy with qk-norm,\n"
        f"which copies {stated(results, highest, COPIES)} at the highest rate"
    )
