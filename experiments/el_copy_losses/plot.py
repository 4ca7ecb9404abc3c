"""Accuracy on unseen hard strings, a row per loss: at the end, and when training was fitted."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_question, add_titles, in_order, new_figure, plot_seed_dots
from experiments.harness.figures import decimal, mean_of, t_note, t_sems
from experiments.harness.tables import read_results, seed_table, settings_with

LETTERS = 26  # characters of a setting whose name says nothing else
REFERENCE = "cross-entropy"
HARD = "test_precise_hard_accuracy"
PANELS = {HARD: "at the end", "hard_accuracy_when_fitted": "when training was fitted"}
ELSEWHERE = {
    "train_hard_accuracy": "hard training strings",
    "test_precise_easy_accuracy": "unseen easy strings",
}


def plot(out: Path) -> Figure:
    """A column per moment, a row of panels per size of the alphabet."""
    results = read_results(out / "results.csv")
    table = seed_table(results)
    alphabets = by_alphabet(results)
    panels = {metric: title for metric, title in PANELS.items() if settings_with(results, metric)}
    figure, axes = new_figure(
        len(alphabets),
        len(panels),
        size=(8.4, 1.5 + 0.36 * sum(map(len, alphabets.values())) + 0.5 * len(alphabets)),
        heights=[len(members) + 0.5 for members in alphabets.values()],
        share_x=True,
    )
    add_question(figure, answer(results))
    for (size, members), row in zip(alphabets.items(), axes, strict=True):
        for metric, ax in zip(panels, row, strict=True):
            measured = [setting for setting in members if (setting, metric) in table]
            plot_seed_dots(ax, table, metric, measured, chance=1 / size, num_sems=t_sems)
            ax.set_xlim(-0.02, 1.03)
            ax.tick_params(labelleft=ax is row[0])
    titles = [f"V = {size} characters, {title}" for size in alphabets for title in panels.values()]
    add_titles(axes.ravel(), titles, pad=14.0)
    for ax in axes[-1]:
        ax.set_xlabel("accuracy on unseen hard strings")
    add_note(
        figure,
        f"dots: seeds; diamonds: mean, {t_note(results)}, filled: with warm-up\n"
        + "; ".join(_least(results, alphabets, *shown) for shown in ELSEWHERE.items()),
    )
    return figure


def by_alphabet(results: pd.DataFrame) -> dict[int, list[str]]:
    """The settings in order, by the number of characters in their names."""
    settings = pd.Series(in_order(settings_with(results, HARD)))
    sizes = settings.str.extract(r", V=(\d+)$")[0].fillna(str(LETTERS)).astype(int)
    return {int(size): list(members) for size, members in settings.groupby(sizes)}


def answer(results: pd.DataFrame) -> str:
    """The best setting of the smallest alphabet, and cross-entropy."""
    settings = next(iter(by_alphabet(results).values()))
    best = max(settings, key=lambda setting: mean_of(results, setting, HARD))
    shown = [f"{s}: {decimal(mean_of(results, s, HARD))}" for s in dict.fromkeys((best, REFERENCE))]
    return f"Best on unseen hard strings is {'; '.join(shown)}"


def _least(results: pd.DataFrame, alphabets: dict[int, list[str]], metric: str, name: str) -> str:
    """The least mean over settings of a metric that is not drawn, of every alphabet."""
    shown = ", ".join(
        f"{decimal(min(mean_of(results, setting, metric) for setting in members))} (V = {size})"
        for size, members in alphabets.items()
    )
    return f"{name}: right on at least {shown}"
