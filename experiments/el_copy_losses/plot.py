"""Accuracy on hard strings, a row per loss: unseen ones, and those of the training set."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_question, add_titles, in_order, new_figure, plot_seed_dots
from experiments.harness.figures import decimal, mean_of, t_note, t_sems
from experiments.harness.tables import read_results, seed_table, settings_with

LETTERS = 26  # characters of a setting whose name says nothing else
REFERENCES = ("cross-entropy", "cross-entropy, warm-up")
HARD = "test_precise_hard_accuracy"
PANELS = {HARD: "unseen hard strings", "train_hard_accuracy": "hard training strings"}
EASY = "test_precise_easy_accuracy"


def plot(out: Path) -> Figure:
    """A column per set of strings, a row of panels per size of the alphabet."""
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
    titles = [f"{title}, V = {size}" for size in alphabets for title in panels.values()]
    add_titles(axes.ravel(), titles, pad=14.0)
    for ax in axes[-1]:
        ax.set_xlabel("accuracy at the end")
    add_note(
        figure,
        f"dots: a run each, with its own data and network; diamonds: mean, {t_note(results)}, "
        f"filled: with warm-up\n{_least_on_easy(results, alphabets)}",
    )
    return figure


def by_alphabet(results: pd.DataFrame) -> dict[int, list[str]]:
    """The settings in order, by the number of characters in their names."""
    settings = pd.Series(in_order(settings_with(results, HARD)))
    sizes = settings.str.extract(r", V=(\d+)$")[0].fillna(str(LETTERS)).astype(int)
    return {int(size): list(members) for size, members in settings.groupby(sizes)}


def answer(results: pd.DataFrame) -> str:
    """The best setting of the smallest alphabet, and cross-entropy without and with warm-up."""
    settings = next(iter(by_alphabet(results).values()))
    best = max(settings, key=lambda setting: mean_of(results, setting, HARD))
    known = [setting for setting in REFERENCES if setting in settings]
    shown = [f"{s}: {decimal(mean_of(results, s, HARD))}" for s in dict.fromkeys((best, *known))]
    return f"Best on unseen hard strings is {shown[0]}\n{'; '.join(shown[1:])}"


def _least_on_easy(results: pd.DataFrame, alphabets: dict[int, list[str]]) -> str:
    """The least mean over settings on strings that are not drawn, of every alphabet."""
    shown = ", ".join(
        f"{decimal(min(mean_of(results, setting, EASY) for setting in members))} (V = {size})"
        for size, members in alphabets.items()
    )
    return f"unseen easy strings: right on at least {shown}"
