"""Accuracy on unseen hard strings against the learning rate, or at one rate a dot for each run."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import (
    EASY,
    HARD,
    add_chance_line,
    add_legend,
    add_note,
    add_question,
    add_titles,
    new_figure,
    plot_lines_vs,
    plot_seed_dots,
)
from experiments.el_copy_rates.settings import CE, E_LOSSES, LABELS, NONE, WARM, named, rates_of
from experiments.harness.figures import decimal, mean_of, t_note, t_sems
from experiments.harness.tables import read_results, seed_table, settings_with

UNSEEN, FITTED = "test_precise_hard_accuracy", "train_hard_accuracy"
PANELS = {UNSEEN: "unseen hard strings", FITTED: "hard training strings"}
CHANCE = 1 / 26
E2 = E_LOSSES[1]


def plot(out: Path) -> Figure:
    """A column for each loss, unseen strings above and training strings below."""
    results = read_results(out / "results.csv")
    rates = rates_of(results)
    if len(rates) == 1:
        return _at_one_rate(results, rates[0])
    table = seed_table(results)
    losses = list(LABELS.values())
    figure, axes = new_figure(2, len(losses), size=(8.4, 5.6), share_x=True, share_y=True)
    add_question(figure, answer(results))
    for row, metric in zip(axes, PANELS, strict=True):
        for ax, loss in zip(row, losses, strict=True):
            for warm_up, style in ((NONE, EASY), (WARM, HARD)):
                settings = [named(loss, rate, warm_up) for rate in rates]
                plot_lines_vs(
                    ax, rates, table, metric, settings,
                    label="with warm-up" if warm_up else "without", line_style=style,
                    num_sems=t_sems,
                )  # fmt: skip
            add_chance_line(ax, CHANCE, label=ax is row[-1])
        row[0].set_ylabel(f"accuracy on\n{PANELS[metric]}")
    axes[0, 0].set(xscale="log", ylim=(0.0, 1.03), xlim=(rates[0] / 1.25, rates[-1] * 1.35))
    for ax in axes[-1]:
        ax.set_xticks(rates, [f"{rate:g}" for rate in rates])
        ax.minorticks_off()
        ax.set_xlabel("learning rate")
    add_titles(axes.ravel(), losses * 2)
    note = f"dots: a run each; diamonds: mean, {t_note(results)}; a seed draws data and network"
    add_legend(figure, axes[0, 0].get_legend_handles_labels()[0], note=note)
    return figure


def _at_one_rate(results: pd.DataFrame, rate: float) -> Figure:
    known = settings_with(results, UNSEEN)
    shown = [named(loss, rate, warm) for loss in LABELS.values() for warm in (NONE, WARM)]
    shown = [setting for setting in shown if setting in known]
    figure, axes = new_figure(size=(8.4, 1.8 + 0.4 * len(shown)))
    (ax,) = axes.ravel()
    add_question(figure, answer(results))
    plot_seed_dots(ax, seed_table(results), UNSEEN, shown, chance=CHANCE, num_sems=t_sems)
    ax.set(xlim=(-0.02, 1.03), xlabel="accuracy on unseen hard strings")
    add_note(
        figure,
        f"dots: a run each, with its own data and network; diamonds: mean, {t_note(results)}, "
        "filled: with warm-up",
    )
    return figure


def answer(results: pd.DataFrame) -> str:
    """The accuracies of cross-entropy and E2 without and with warm-up, at the two lowest rates."""
    rates = rates_of(results)
    if len(rates) == 1:
        means = {
            (loss, warm): _mean(results, loss, rates[0], warm)
            for loss in (CE, E2)
            for warm in (NONE, WARM)
        }
        return (
            "Of unseen hard strings cross-entropy is right on "
            f"{means[CE, NONE]} without and {means[CE, WARM]} with warm-up,\n"
            f"E2 on {means[E2, NONE]} without and {means[E2, WARM]} with it"
        )
    return "Accuracy on unseen hard strings without and with warm-up\n" + "\n".join(
        f"η = {rate:g}: cross-entropy {_mean(results, CE, rate, NONE)} and "
        f"{_mean(results, CE, rate, WARM)}, E2 {_mean(results, E2, rate, NONE)} and "
        f"{_mean(results, E2, rate, WARM)}"
        for rate in rates[:2]
    )


def _mean(results: pd.DataFrame, loss: str, rate: float, warm_up: str) -> str:
    return decimal(mean_of(results, named(loss, rate, warm_up), UNSEEN))
