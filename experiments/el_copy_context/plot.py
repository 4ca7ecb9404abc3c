"""Accuracy on unseen strings against the length of the context, hard and easy ones."""

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
    in_order,
    new_figure,
    plot_lines_vs,
)
from experiments.harness.figures import decimal, in_words, mean_of, t_note, t_sems
from experiments.harness.tables import read_results, seed_table, with_parts

SETTING = r"(?P<loss>.*), context (?P<context>\d+)"
GROUP_STYLES = {"hard": HARD, "easy": EASY}
CHANCE = 1 / 26


def plot(out: Path) -> Figure:
    """A line per loss and group of strings."""
    results = with_parts(read_results(out / "results.csv"), SETTING)
    figure, axes = new_figure(size=(7.0, 4.2))
    (ax,) = axes.ravel()
    add_question(figure, answer(results))
    _draw(ax, results)
    ax.set_xlabel("context, tokens")
    ax.set_ylabel("accuracy on unseen strings")
    trained = in_words(
        f"{group} {decimal(least)}" for group, least in _least_training_accuracy(results).items()
    )
    note = (
        f"dots: seeds; diamonds: mean, {t_note(results)}\ntraining strings, least mean: {trained}"
    )
    add_legend(figure, ax.get_legend_handles_labels()[0], note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The accuracy on unseen hard strings of every loss, in its shortest and longest context."""
    shown = []
    for loss, members in _by_loss(results).items():
        ends = [
            mean_of(results, members[context], "test_precise_hard_accuracy")
            for context in (min(members), max(members))
        ]
        shown.append(f"{loss}: {decimal(ends[0])} to {decimal(ends[1])}")
    contexts = results["context"]
    return (
        f"Unseen hard strings, contexts of {contexts.min()} to {contexts.max()} tokens:\n"
        f"{'; '.join(shown)} (chance {decimal(CHANCE)})"
    )


def _by_loss(results: pd.DataFrame) -> dict[str, dict[int, str]]:
    """Loss -> context -> setting, both in order."""
    settings = results.drop_duplicates("setting").sort_values("context")
    parts = dict(list(settings.groupby("loss")))
    return {
        loss: dict(zip(parts[loss]["context"], parts[loss]["setting"], strict=True))
        for loss in in_order(parts)
    }


def _least_training_accuracy(results: pd.DataFrame) -> dict[str, float]:
    means = results.groupby(["metric", "setting"])["value"].mean()
    return {group: means[f"train_{group}_accuracy"].min() for group in GROUP_STYLES}


def _draw(ax: Axes, results: pd.DataFrame) -> None:
    table = seed_table(results)
    for loss, members in _by_loss(results).items():
        for group, line_style in GROUP_STYLES.items():
            plot_lines_vs(
                ax, list(members), table, f"test_precise_{group}_accuracy",
                list(members.values()), label=f"{loss}, {group} strings", line_style=line_style,
                num_sems=t_sems,
            )  # fmt: skip
    add_chance_line(ax, CHANCE)
    ax.set_xscale("log", base=2)
    contexts = sorted(set(results["context"]))
    ax.set_xticks(contexts, [str(context) for context in contexts])
    ax.minorticks_off()
    ax.set_ylim(0.0, 1.03)
