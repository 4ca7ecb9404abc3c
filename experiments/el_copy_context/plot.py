"""Accuracy against the length of the context, hard and easy strings, seen and unseen."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import (
    EASY,
    HARD,
    SeedTable,
    add_chance_line,
    add_legend,
    add_question,
    add_title,
    in_order,
    new_figure,
    plot_lines_vs,
)
from experiments.results import read_results

SEPARATOR = ", context "
SPLITS = {"train": "training strings", "test_precise": "unseen strings"}
GROUP_STYLES = {"hard": HARD, "easy": EASY}


def context_of(setting: str) -> int:
    """The context length in a setting's name: ``"cross-entropy, context 55"`` -> 55."""
    return int(setting.split(SEPARATOR)[1])


def plot(out: Path) -> Figure:
    """A panel per split; a line per loss and group of strings."""
    results = read_results(out / "results.csv")
    figure, axes = new_figure(1, len(SPLITS), size=(7.5, 3.6), share_y=True)
    add_question(figure, "Does packing more strings into a context spoil the copying of hard ones?")
    for (split, title), ax in zip(SPLITS.items(), axes[0], strict=True):
        _draw(ax, results, split)
        add_title(ax, title)
        ax.set_xlabel("context length, tokens")
    axes[0, 0].set_ylabel("accuracy")
    add_legend(figure, axes[0, 0].get_legend_handles_labels()[0])
    return figure


def _draw(ax: Axes, results: SeedTable, split: str) -> None:
    settings = {setting for setting, _ in results}
    contexts = sorted({context_of(setting) for setting in settings})
    for loss in in_order({setting.split(SEPARATOR)[0] for setting in settings}):
        members = [f"{loss}{SEPARATOR}{context}" for context in contexts]
        members = [member for member in members if member in settings]
        for group, line_style in GROUP_STYLES.items():
            plot_lines_vs(
                ax, [context_of(member) for member in members], results,
                f"{split}_{group}_accuracy", members, label=f"{loss}, {group} strings",
                line_style=line_style,
            )  # fmt: skip
    add_chance_line(ax, 1 / 26, label=split == "test")
    ax.set_xscale("log", base=2)
    ax.set_xticks(contexts, [str(context) for context in contexts])
    ax.minorticks_off()
    ax.set_ylim(0.0, 1.03)
