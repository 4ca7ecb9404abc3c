"""Accuracy on unseen hard strings, a column of dots for each data set, a panel for each setting."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import add_chance_line, add_note, add_titles, spread
from experiments.el_copy_variance.claims import HARD, SETTINGS
from experiments.el_copy_variance.parts import parts
from experiments.el_copy_variance.run import SEEDS_PER_DATA
from experiments.harness.figures import colour_of, decimal, figure_answering
from experiments.harness.names import name_of
from experiments.harness.tables import Where, read_table, values_of

CHANCE = 1 / 26


def plot(out: Path) -> Figure:
    """Data sets in the order of their means."""
    results = read_table(out / "results.csv")
    figure, axes = figure_answering(
        answer(results), 1, len(SETTINGS), size=(9.4, 3.9), share_y=True
    )
    for ax, setting in zip(axes[0], SETTINGS, strict=True):
        _draw(ax, results, setting)
        add_chance_line(ax, CHANCE, label=ax is axes[0, -1])
        ax.set_xlabel("data set, by its mean")
    axes[0, 0].set(ylabel="accuracy on unseen hard strings", ylim=(0.0, 1.03))
    add_titles(axes[0], map(name_of, SETTINGS))
    add_note(
        figure,
        f"dots: networks on one data set, {SEEDS_PER_DATA} each; lines: their mean; where .00 is "
        "shown, means of data sets differ no more than chance makes those of so few networks",
    )
    return figure


def answer(results: pd.DataFrame) -> str:
    """The two standard deviations of every setting."""
    shown = []
    for setting in SETTINGS:
        found = parts(results, setting, HARD)
        said = "nothing varies"
        if found is not None:
            said = f"{decimal(found.between)} and {decimal(found.within)}"
        shown.append(f"{name_of(setting)}: {said}")
    return "Standard deviation between data sets, and between networks on one\n" + "; ".join(shown)


def _draw(ax: Axes, results: pd.DataFrame, setting: Where) -> None:
    colour = colour_of(setting)
    values = values_of(results, setting, HARD).to_numpy()
    groups = values.reshape(-1, SEEDS_PER_DATA)
    for place, group in enumerate(sorted(groups, key=lambda group: group.mean())):
        aside = place + spread(SEEDS_PER_DATA, 0.3)
        ax.plot(aside, group, "o", color=colour, alpha=0.6, markersize=4, zorder=3)
        ends = [place - 0.35, place + 0.35]
        ax.plot(ends, [group.mean()] * 2, color=colour, linewidth=1.4, zorder=2)
    ax.set_xticks([])
