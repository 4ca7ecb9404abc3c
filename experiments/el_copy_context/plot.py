"""Accuracy on unseen hard strings against each factor of the data, a line for each loss."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import DASHED, SOLID, add_chance_line, add_legend, add_titles
from experiments.el_copy_context.claims import CE, HARD, LOSSES, along
from experiments.el_copy_context.run import BASE, TOKENS
from experiments.harness.figures import decimal, draw_against, figure_answering, mean_of, t_note
from experiments.harness.names import name_of
from experiments.harness.tables import is_measured, levels, read_table

CHANCE = 1 / 26
FACTORS = {
    "strings_per_window": ("neighbours in the window", "context, tokens"),
    "padding_length": ("length of the padding", "letters of padding"),
    "easy_fraction": ("share of easy strings", "share of easy strings"),
}


def plot(out: Path) -> Figure:
    """A column for each factor that was varied."""
    results = read_table(out / "results.csv")
    varied = [factor for factor in FACTORS if len(levels(results, factor, along(CE, factor))) > 1]
    figure, axes = figure_answering(
        answer(results), 1, len(varied), size=(2.6 + 2.0 * len(varied), 4.0), share_y=True
    )
    for ax, factor in zip(axes.ravel(), varied, strict=True):
        _draw(ax, results, factor)
        add_chance_line(ax, CHANCE, label=ax is axes[0, -1])
    axes[0, 0].set(ylabel="accuracy on unseen hard strings", ylim=(0.0, 1.03))
    add_titles(axes.ravel(), [FACTORS[factor][0] for factor in varied])
    least = results[results["metric"] == "test_precise_easy_accuracy"]["value"].min()
    note = (
        f"dots: a run each; diamonds: mean, {t_note(results)}; a seed draws data and network\n"
        f"elsewhere: context {TOKENS * BASE['strings_per_window']}, padding "
        f"{BASE['padding_length']}, {decimal(BASE['easy_fraction'], 1)} easy; unseen easy strings: "
        f"right on at least {decimal(least)}"
    )
    handles = axes[0, 0].get_legend_handles_labels()[0]
    add_legend(figure, handles, num_columns=len(handles), note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The accuracy of every loss in its shortest and longest context."""
    packed = levels(results, "strings_per_window", along(CE, "strings_per_window"))
    shown = []
    for loss in LOSSES:
        if not is_measured(results, loss, HARD):
            continue
        first, last = (
            decimal(mean_of(results, loss | BASE | {"strings_per_window": end}, HARD))
            for end in (packed[0], packed[-1])
        )
        shown.append(f"{name_of(loss)}: {first} to {last}")
    return (
        f"Unseen hard strings, contexts of {TOKENS * packed[0]:g} to {TOKENS * packed[-1]:g} "
        f"tokens (chance {decimal(CHANCE)})\n{'; '.join(shown)}"
    )


def _draw(ax: Axes, results: pd.DataFrame, factor: str) -> None:
    for loss in LOSSES:
        where = along(loss, factor)
        style = DASHED if loss is CE else SOLID
        if len(levels(results, factor, where)) > (factor != "strings_per_window"):
            draw_against(ax, results, HARD, where, factor, label=name_of(loss), line_style=style)
    values = levels(results, factor, along(CE, factor))
    if factor != "easy_fraction":
        ax.set_xscale("log", base=2)
    scale = TOKENS if factor == "strings_per_window" else 1
    ax.set_xticks(values, [f"{scale * value:g}" for value in values])
    ax.minorticks_off()
    ax.set_xlabel(FACTORS[factor][1])
