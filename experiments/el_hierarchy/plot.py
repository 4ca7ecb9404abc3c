"""Accuracy on unseen sentences by number of training sentences; for a pilot, by setting."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_hierarchy.claims import FITTED, UNSEEN, at
from experiments.el_hierarchy.run import RECIPES
from experiments.harness.figures import (
    count_fitted,
    decimal,
    draw_against,
    draw_dots,
    figure_answering,
    in_words,
    key,
    t_note,
    ticks_at,
)
from experiments.harness.tables import Where, levels, select

STYLES = {
    "cross-entropy": ("#000000", "-"),
    "E1": ("#0072b2", "-"),
    "weight decay": ("#d55e00", "-"),
    "Muon": ("#000000", "--"),
    "Muon, E1": ("#0072b2", "--"),
}
FEW = 1_024


def plot(results: pd.DataFrame) -> Figure:
    """A line for each recipe."""
    shown = [name for name in RECIPES if name in levels(results, "recipe")]
    if results["peak_lr"].groupby(results["recipe"]).nunique().max() > 1:
        return _plot_settings(results)
    figure, axes = figure_answering(answer(results), size=(7.4, 4.0))
    ax = axes[0, 0]
    for name in shown:
        colour, style = STYLES[name]
        draw_against(
            ax,
            results,
            UNSEEN,
            at(name),
            "num_train",
            label=name,
            colour=colour,
            line_style=style,
            filled=style == "-",
        )
    ticks_at(ax, levels(results, "num_train"), base=2)
    ax.set(xlabel="training sentences", ylim=(-0.03, 1.03))
    add_titles(axes.ravel(), ["unseen sentences: share that is right"])
    add_legend(
        figure,
        [key(name, STYLES[name][0], style=STYLES[name][1]) for name in shown],
        num_columns=5,
        note=f"solid: AdamW, dashed: Muon; {t_note(results, 'hierarchies')}",
    )
    return figure


def _plot_settings(results: pd.DataFrame) -> Figure:
    """Accuracy of each recipe at each of its numbers and rates."""
    rows = select(results, {}, UNSEEN)
    numbers = [f for f in ("lam", "weight_decay") if f in rows]
    means = rows.groupby(["recipe", "peak_lr", *numbers], dropna=False)["value"].mean()
    best = means.groupby("recipe").idxmax()

    def label(cell: Where) -> str:
        of_number = " ".join(f"{cell[f]:g}" for f in numbers if f in cell)
        return f"{cell['recipe']} {of_number}, η = {cell['peak_lr']:g}"

    chosen = [f"{name} at {best[name][1]:g}" for name in RECIPES if name in best]
    figure, axes = figure_answering(
        "Right most often, by learning rate:\n" + "; ".join(chosen), size=(8.6, 6.0)
    )
    draw_dots(axes[0, 0], results, UNSEEN, [at(name) for name in RECIPES], label=label)
    axes[0, 0].set_xlabel("unseen sentences: share that is right")
    return figure


def answer(results: pd.DataFrame) -> str:
    """The accuracy of each recipe on unseen sentences, with a few training sentences."""
    sizes = levels(results, "num_train")
    few = FEW if FEW in sizes else sizes[0]
    shown = in_words(
        f"{decimal(select(results, at(name, num_train=few), UNSEEN)['value'].mean())} ({name})"
        for name in RECIPES
        if len(select(results, at(name, num_train=few), UNSEEN))
    )
    return (
        f"Trained on {few:,g} sentences of a hierarchy, right on unseen ones are\n"
        f"{shown}.\n{count_fitted(results, FITTED)} runs fit"
    )
