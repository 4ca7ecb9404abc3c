"""Accuracy on training and unseen hard strings, and the share that copies, over training."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_copy_1024.claims import COPIES, FITTED, at
from experiments.el_copy_1024.run import RECIPES
from experiments.harness.figures import figure_answering, stated
from experiments.harness.tables import is_measured, levels, select

PANELS = {
    FITTED: "hard training strings: share that is right",
    "test_hard_accuracy": "unseen hard strings: share that is right",
    COPIES: "swap test: share that copies",
}
PALETTE = ["#000", "#0072b2", "#888", "#d55e00", "#e69f00", "#cc79a7", "#56b4e9", "#009e73"]
PALETTE += ["#8b4513", "#7a5195", "#004d40"]
IN_TITLE = {  # recipes with warm-up and a falling rate, as the title calls them
    "cross-entropy with warm-up and a falling rate for 4k": "cross-entropy from 1e-4",
    "cross-entropy with warm-up and a falling rate from 3e-4": "from 3e-4",
    "E1 with warm-up and a falling rate": "E1 from 1e-4",
    "E1 with warm-up and a falling rate from 3e-4": "from 3e-4",
}
COLOURS = dict(zip(RECIPES, PALETTE, strict=True))


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """A panel for each measure, a line for each recipe."""
    shown = [r for r in RECIPES if r in levels(curves, "recipe")]
    title = answer(results)
    figure, axes = figure_answering(title, 1, len(PANELS), size=(10.2, 3.6), share_y=True)
    for ax, metric in zip(axes[0], PANELS, strict=True):
        for recipe in shown:
            runs = select(curves, at(recipe), metric).groupby("seed")
            for _, run in runs:
                ax.plot(run["step"], run["value"], "o-", ms=3, label=recipe, color=COLOURS[recipe])
        ax.set(xlabel="updates", ylim=(-0.03, 1.03))
    add_titles(axes.ravel(), [*PANELS.values()])
    named = dict(zip(*axes[0, 0].get_legend_handles_labels()[::-1], strict=True))
    add_legend(figure, [*named.values()], num_columns=3, note="a line for each run")
    return figure


def answer(results: pd.DataFrame) -> str:
    """The share that four recipes copy at the end."""
    parts = [
        f"{words} {stated(results, at(recipe), COPIES)}"
        for recipe, words in IN_TITLE.items()
        if is_measured(results, at(recipe), COPIES)
    ]
    recipe = "with warm-up and a falling rate"
    return f"Share of the swap test copied at width 1024, {recipe}:\n{', '.join(parts)}"
