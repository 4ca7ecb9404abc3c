"""Accuracy on hard strings, a row per loss: unseen ones, and those of the training set."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.el_copy_losses.claims import CE, COLD, HARD, WARM
from experiments.harness.figures import decimal, draw_dots, figure_answering, mean_of, t_note
from experiments.harness.names import name_of
from experiments.harness.tables import Where, cells, is_measured, levels, read_table

PANELS = {HARD: "unseen hard strings", "train_hard_accuracy": "hard training strings"}
EASY = "test_precise_easy_accuracy"


def plot(out: Path) -> Figure:
    """A column per set of strings, a row of panels per size of the alphabet."""
    results = read_table(out / "results.csv")
    settings = {size: _settings(results, size) for size in levels(results, "alphabet_size")}
    figure, axes = figure_answering(
        answer(results),
        len(settings),
        len(PANELS),
        size=(8.4, 1.5 + 0.36 * sum(map(len, settings.values())) + 0.5 * len(settings)),
        heights=[len(members) + 0.5 for members in settings.values()],
        share_x=True,
    )
    for (size, members), row in zip(settings.items(), axes, strict=True):
        for metric, ax in zip(PANELS, row, strict=True):
            draw_dots(ax, results, metric, members, label=_name, chance=1 / size)
            ax.set_xlim(-0.02, 1.03)
            ax.tick_params(labelleft=ax is row[0])
    titles = [f"{title}, V = {size:g}" for size in settings for title in PANELS.values()]
    add_titles(axes.ravel(), titles, pad=14.0)
    for ax in axes[-1]:
        ax.set_xlabel("accuracy at the end")
    easy = ", ".join(
        f"{decimal(min(mean_of(results, setting, EASY) for setting in members))} (V = {size:g})"
        for size, members in settings.items()
    )
    add_note(
        figure,
        f"dots: a run each, with its own data and network; diamonds: mean, {t_note(results)}, "
        f"filled: with warm-up\nunseen easy strings: right on at least {easy}",
    )
    return figure


def _settings(results: pd.DataFrame, size: int) -> list[Where]:
    """The settings with an alphabet, by loss, strength and warm-up."""
    found = cells(results, {"alphabet_size": size}, HARD)
    return sorted(found, key=lambda one: (one["loss"], one.get("lam", 0), one.get("b", 0)))


def _name(factors: Where) -> str:
    return name_of({f: v for f, v in factors.items() if not f.endswith(("_size", "_length"))})


def answer(results: pd.DataFrame) -> str:
    """The best setting of the smallest alphabet, and cross-entropy without and with warm-up."""
    size = levels(results, "alphabet_size")[0]
    settings = _settings(results, size)
    best = max(settings, key=lambda setting: mean_of(results, setting, HARD))
    controls = [CE | warm_up | {"alphabet_size": size} for warm_up in (COLD, WARM)]
    shown = {
        _name(one): decimal(mean_of(results, one, HARD))
        for one in (best, *controls)
        if is_measured(results, one, HARD)
    }
    first, *others = (f"{name}: {mean}" for name, mean in shown.items())
    return f"Best on unseen hard strings is {first}\n{'; '.join(others)}"
