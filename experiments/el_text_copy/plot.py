"""Exact match of every seed: a column for each text; all, easy and hard sentences below another."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_question, add_titles, new_figure, plot_seed_dots
from experiments.el_text_copy.settings import (
    CE,
    E1_ONE_WARM_UP,
    E1_WARM_UP,
    METHODS,
    OVERALL,
    PANELS,
    TEXTS,
    named,
)
from experiments.harness.figures import decimal, mean_of, t_note, t_sems
from experiments.harness.tables import read_results, seed_table, settings_with


def plot(out: Path) -> Figure:
    """A row of panels for each group of sentences."""
    results = read_results(out / "results.csv")
    known, table = settings_with(results, OVERALL), seed_table(results)
    methods = [m for m in METHODS if all(named(m, text) in known for text in TEXTS)]
    figure, axes = new_figure(len(PANELS), len(TEXTS), size=(9.6, 11.0), share_x=True)
    add_question(figure, answer(results))
    for metric, row in zip(PANELS, axes, strict=True):
        for text, ax in zip(TEXTS, row, strict=True):
            settings = [named(method, text) for method in methods]
            plot_seed_dots(ax, table, metric, settings, num_sems=t_sems)
            ax.set(xlim=(-0.03, 1.03), yticks=range(len(methods)))
            ax.set_yticklabels(methods if ax is row[0] else [])
    for ax in axes[-1]:
        ax.set_xlabel("exact match of the label, unseen sentences")
    add_titles(axes.ravel(), [f"{text}, {what}" for what in PANELS.values() for text in TEXTS])
    add_note(figure, f"dots: a run each; diamonds: mean, {t_note(results)}, filled: with warm-up")
    return figure


def answer(results: pd.DataFrame) -> str:
    """The exact match of cross-entropy and of E1 with warm-up on every text."""

    def mean(method: str, text: str) -> str:
        return decimal(mean_of(results, named(method, text), OVERALL))

    known, shown = settings_with(results, OVERALL), []
    for text in TEXTS:
        line = f"{text}: cross-entropy {mean(CE, text)}, E1 with warm-up {mean(E1_WARM_UP, text)}"
        if named(E1_ONE_WARM_UP, text) in known:
            line += f", at λ = .5 {mean(E1_ONE_WARM_UP, text)}"
        shown.append(line)
    return "Labels given back\n" + "\n".join(shown)
