"""Accuracy on unseen hard strings against the learning rate, or at one rate a dot for each run."""

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import DASHED, SOLID, add_chance_line, add_legend, add_note, add_titles
from experiments.el_copy_rates.claims import CE, COLD, E2, E_LOSSES, WARM
from experiments.el_copy_rates.run import NUM_UPDATES
from experiments.harness.figures import (
    decimal,
    draw_against,
    draw_dots,
    figure_answering,
    mean_of,
    t_note,
    ticks_at,
)
from experiments.harness.names import name_of
from experiments.harness.tables import Where, levels, read_table, select

UNSEEN, FITTED = "test_precise_hard_accuracy", "train_hard_accuracy"
PANELS = {UNSEEN: "unseen hard strings", FITTED: "hard training strings"}
LOSSES: dict[str, dict[str, Any]] = {"cross-entropy": CE, **E_LOSSES}
CHANCE = 1 / 26


def plot(out: Path) -> Figure:
    """A column for each loss, unseen strings above and training strings below."""
    results = read_table(out / "results.csv")
    rates = levels(results, "peak_lr")
    if len(rates) == 1:
        return _at_one_rate(results)
    same_length = select(results, {"num_updates": NUM_UPDATES})
    figure, axes = figure_answering(
        answer(results), 2, len(LOSSES), size=(8.4, 5.6), share_x=True, share_y=True
    )
    for row, metric in zip(axes, PANELS, strict=True):
        for ax, loss in zip(row, LOSSES.values(), strict=True):
            for warm_up, label, style in ((COLD, "without", DASHED), (WARM, "with warm-up", SOLID)):
                draw_against(
                    ax,
                    same_length,
                    metric,
                    loss | warm_up,
                    "peak_lr",
                    label=label,
                    line_style=style,
                )
            add_chance_line(ax, CHANCE, label=ax is row[-1])
        row[0].set_ylabel(f"accuracy on\n{PANELS[metric]}")
    axes[0, 0].set(xscale="log", ylim=(0.0, 1.03), xlim=(rates[0] / 1.25, rates[-1] * 1.35))
    for ax in axes[-1]:
        ticks_at(ax, rates)
        ax.set_xlabel("learning rate")
    add_titles(axes.ravel(), [*LOSSES] * 2)
    note = f"dots: a run each; diamonds: mean, {t_note(results)}; a seed draws data and network"
    add_legend(figure, axes[0, 0].get_legend_handles_labels()[0], note=note)
    return figure


def _at_one_rate(results: pd.DataFrame) -> Figure:
    figure, axes = figure_answering(answer(results), size=(8.4, 3.4))
    rows = [loss | warm_up for loss in (CE, E2) for warm_up in (COLD, WARM)]
    draw_dots(axes[0, 0], results, UNSEEN, rows, label=_loss_and_warm_up, chance=CHANCE)
    axes[0, 0].set(xlim=(-0.02, 1.03), xlabel="accuracy on unseen hard strings")
    add_note(
        figure,
        f"dots: a run each, with its own data and network; diamonds: mean, {t_note(results)}, "
        "filled: with warm-up",
    )
    return figure


def _loss_and_warm_up(cell: Where) -> str:
    return name_of({f: level for f, level in cell.items() if f not in ("peak_lr", "num_updates")})


def answer(results: pd.DataFrame) -> str:
    """The accuracies of cross-entropy and E2 without and with warm-up, at the two lowest rates."""
    rates = levels(results, "peak_lr")
    warm_up = levels(results, "warmup_steps")[-1]  # a smoke run's is short
    shown = {
        rate: [
            _mean(results, loss | {"warmup_steps": steps}, rate)
            for loss in (CE, E2)
            for steps in (0, warm_up)
        ]
        for rate in rates[:2]
    }
    if len(rates) == 1:
        ce, ce_warm, e2, e2_warm = shown[rates[0]]
        return (
            f"Of unseen hard strings cross-entropy is right on {ce} without and {ce_warm} with "
            f"warm-up,\nE2 on {e2} without and {e2_warm} with it"
        )
    return "Accuracy on unseen hard strings without and with warm-up\n" + "\n".join(
        f"η = {rate:g}: cross-entropy {ce} and {ce_warm}, E2 {e2} and {e2_warm}"
        for rate, (ce, ce_warm, e2, e2_warm) in shown.items()
    )


def _mean(results: pd.DataFrame, where: dict[str, Any], rate: float) -> str:
    at = where | {"peak_lr": rate, "num_updates": results["num_updates"].min()}
    return decimal(mean_of(results, at, UNSEEN))
