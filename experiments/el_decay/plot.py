"""The share that copies in the swap test, by number of strings and along long runs."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_decay.claims import COPIES, FITTED, HARD, at
from experiments.el_decay.run import LONG, LONG_RECIPES, RECIPES
from experiments.harness.figures import (
    count_fitted,
    draw_against,
    draw_dots,
    figure_answering,
    in_words,
    key,
    stated,
    t_note,
    ticks_at,
)
from experiments.harness.tables import Where, is_measured, levels, select

COLOURS = {"cross-entropy": "#000000", "E1": "#0072b2", "Muon": "#009e73"}
PANELS = {COPIES: "swap test: share that copies", HARD: "unseen hard strings: share that is right"}


def plot(results: pd.DataFrame) -> Figure:
    """Two measures against the number of strings; without decay, hollow and dashed."""
    if not set(LONG_RECIPES) <= {*results["recipe"]}:  # a pilot's
        return _plot_settings(results)
    figure, axes = figure_answering(answer(results), 1, 2, size=(8.6, 3.6), share_y=True)
    for ax, metric in zip(axes[0], PANELS, strict=True):
        _draw(ax, results, metric)
    add_titles(axes.ravel(), [*PANELS.values()])
    entries = [key(name, colour) for name, colour in COLOURS.items()]
    entries += [
        key("with heavy decay", "#555555", "o", "-"),
        key("without", "#555555", "o", "--", face="white"),
        key("after 20,000 updates", "#555555", "*", "", face="white"),
    ]
    add_legend(figure, entries, num_columns=6, note=t_note(results, "data sets"))
    return figure


def _plot_settings(results: pd.DataFrame) -> Figure:
    """The share that copies, a row for each recipe, decay and rate."""
    names = [name for name in RECIPES if name in {*results["recipe"]}]
    means = select(results, {}, COPIES).groupby(["recipe", "weight_decay", "peak_lr"])["value"]
    best = means.mean().groupby("recipe").idxmax()
    chosen = [f"{name} {best[name][1]:g}, η = {best[name][2]:g}" for name in names]
    figure, axes = figure_answering("These copy most:\n" + "; ".join(chosen), 1, 1, size=(8.6, 6.0))

    def label(cell: Where) -> str:
        return f"{cell['recipe']} {cell['weight_decay']:g}, η = {cell['peak_lr']:g}"

    draw_dots(axes[0, 0], results, COPIES, [{"recipe": name} for name in names], label=label)
    axes[0, 0].set_xlabel(PANELS[COPIES])
    return figure


def _draw(ax: Axes, results: pd.DataFrame, metric: str) -> None:
    """A line for each recipe, and stars for long runs."""
    for name in RECIPES:
        decays = name.endswith("decay")
        colour = COLOURS[name.removesuffix(", decay")]
        if is_measured(results, at(name), metric):
            draw_against(
                ax,
                results,
                metric,
                at(name),
                "num_train",
                label=name,
                colour=colour,
                line_style="-" if decays else "--",
                filled=decays,
            )
        if is_measured(results, at(name, LONG), metric):
            rows = select(results, at(name, LONG), metric)
            face = colour if decays else "white"
            ax.plot(
                rows["num_train"].iloc[0] * 1.12,
                rows["value"].mean(),
                "*",
                color=colour,
                markerfacecolor=face,
                markersize=11,
            )
    ticks_at(ax, levels(results, "num_train"), base=2)
    ax.set(xlabel="training strings", ylim=(-0.03, 1.03))


def answer(results: pd.DataFrame) -> str:
    """The share copied with and without decay at the most strings, and how many runs fit."""
    most = max(levels(results, "num_train"))
    updates = min(levels(results, "num_updates"))

    def copied(name: str) -> str:
        return stated(results, at(name, updates, num_train=most), COPIES)

    shown = in_words(
        f"{copied(name)} to {copied(f'{name}, decay')} ({name})"
        for name in COLOURS
        if is_measured(results, at(name, updates, num_train=most), COPIES)
    )
    return (
        f"With {most:g} strings heavy weight decay takes the share copied in the swap test from\n"
        f"{shown}; {count_fitted(results, FITTED)} runs fit"
    )
