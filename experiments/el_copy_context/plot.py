"""Accuracy against the length of the context, hard and easy strings, seen and unseen."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import (
    EASY,
    HARD,
    add_chance_line,
    add_legend,
    add_question,
    add_title,
    in_order,
    new_figure,
    plot_lines_vs,
)
from experiments.harness.tables import read_results, seed_table, with_parts

SETTING = r"(?P<loss>.*), context (?P<context>\d+)"
SPLITS = {"train": "training strings", "test_precise": "unseen strings"}
GROUP_STYLES = {"hard": HARD, "easy": EASY}


def plot(out: Path) -> Figure:
    """A panel per split; a line per loss and group of strings."""
    results = with_parts(read_results(out / "results.csv"), SETTING)
    figure, axes = new_figure(1, len(SPLITS), size=(7.5, 3.6), share_y=True)
    add_question(figure, "Does packing more strings into a context spoil the copying of hard ones?")
    for (split, title), ax in zip(SPLITS.items(), axes[0], strict=True):
        _draw(ax, results, split)
        add_title(ax, title)
        ax.set_xlabel("context length, tokens")
    axes[0, 0].set_ylabel("accuracy")
    add_legend(figure, axes[0, 0].get_legend_handles_labels()[0])
    return figure


def _draw(ax: Axes, results: pd.DataFrame, split: str) -> None:
    table = seed_table(results)
    settings = results.drop_duplicates("setting").sort_values("context")
    for loss in in_order(set(settings["loss"])):
        members = settings[settings["loss"] == loss]
        for group, line_style in GROUP_STYLES.items():
            plot_lines_vs(
                ax, list(members["context"]), table, f"{split}_{group}_accuracy",
                list(members["setting"]), label=f"{loss}, {group} strings", line_style=line_style,
            )  # fmt: skip
    add_chance_line(ax, 1 / 26, label=split == "test")
    ax.set_xscale("log", base=2)
    contexts = settings["context"].unique()
    ax.set_xticks(contexts, contexts.astype(str))
    ax.minorticks_off()
    ax.set_ylim(0.0, 1.03)
