"""Accuracy on unseen hard strings against each factor of the data, a line for each loss."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import (
    EASY as DASHED,
    HARD as SOLID,
    add_chance_line,
    add_legend,
    add_question,
    add_titles,
    new_figure,
    plot_lines_vs,
)
from experiments.el_copy_context.settings import (
    BASE,
    CE,
    CONTEXT,
    EASY,
    HARD,
    LOSSES,
    PADDING,
    measured,
    named,
)
from experiments.harness.figures import decimal, mean_of, t_note, t_sems
from experiments.harness.tables import read_results, seed_table, settings_with

CHANCE = 1 / 26
FACTORS = {
    CONTEXT: ("neighbours in the window", "context, tokens"),
    PADDING: ("length of the padding", "letters of padding"),
    EASY: ("share of easy strings", "share of easy strings"),
}


def plot(out: Path) -> Figure:
    """A column for each factor that was varied."""
    results = read_results(out / "results.csv")
    known = settings_with(results, HARD)
    factors = [factor for factor in FACTORS if len(measured(known, CE, factor)) > 1]
    figure, axes = new_figure(1, len(factors), size=(2.6 + 2.0 * len(factors), 4.0), share_y=True)
    add_question(figure, answer(results))
    for ax, factor in zip(axes.ravel(), factors, strict=True):
        _draw(ax, results, factor)
        add_chance_line(ax, CHANCE, label=ax is axes[0, -1])
    axes[0, 0].set(ylabel="accuracy on unseen hard strings", ylim=(0.0, 1.03))
    add_titles(axes.ravel(), [FACTORS[factor][0] for factor in factors])
    least = results[results["metric"] == "test_precise_easy_accuracy"]["value"].min()
    note = (
        f"dots: a run each; diamonds: mean, {t_note(results)}; a seed draws data and network\n"
        f"elsewhere: context {BASE[CONTEXT]}, padding {BASE[PADDING]}, "
        f"{decimal(BASE[EASY], 1)} easy; unseen easy strings: right on at least {decimal(least)}"
    )
    handles = axes[0, 0].get_legend_handles_labels()[0]
    add_legend(figure, handles, num_columns=len(handles), note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The accuracy of every loss in its shortest and longest context."""
    known = settings_with(results, HARD)
    contexts = measured(known, CE, CONTEXT)
    ends = min(contexts), max(contexts)
    shown = []
    for loss in [loss for loss in LOSSES if measured(known, loss, CONTEXT)]:
        first, last = (decimal(mean_of(results, named(loss, CONTEXT, end), HARD)) for end in ends)
        shown.append(f"{loss}: {first} to {last}")
    return (
        f"Unseen hard strings, contexts of {ends[0]:g} to {ends[1]:g} tokens "
        f"(chance {decimal(CHANCE)})\n{'; '.join(shown)}"
    )


def _draw(ax: Axes, results: pd.DataFrame, factor: str) -> None:
    table, known = seed_table(results), settings_with(results, HARD)
    for loss in LOSSES:
        settings = measured(known, loss, factor)
        if not settings:
            continue
        plot_lines_vs(
            ax, list(settings), table, HARD, list(settings.values()), label=loss,
            line_style=DASHED if loss == CE else SOLID, num_sems=t_sems,
        )  # fmt: skip
    values = list(measured(known, CE, factor))
    if factor != EASY:
        ax.set_xscale("log", base=2)
    ax.set_xticks(values, [f"{value:g}" for value in values])
    ax.minorticks_off()
    ax.set_xlabel(FACTORS[factor][1])
