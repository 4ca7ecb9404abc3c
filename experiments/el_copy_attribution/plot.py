"""Accuracy where strings are fitted, at two memories of Adam; a memory changed half-way."""

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_note, add_titles, plot_curve
from experiments.el_copy_attribution.claims import (
    CE,
    COLD,
    E1,
    E2,
    E3,
    FEW,
    HARD,
    LONG,
    MAIN,
    SHORT,
    WARM,
    switched,
)
from experiments.harness.figures import (
    curve_of,
    decimal,
    draw_dots,
    figure_answering,
    in_words,
    mean_of,
    t_note,
    t_sems,
)
from experiments.harness.names import loss_name, name_of
from experiments.harness.tables import Where, is_measured, read_table

CHANCE = 1 / 26
LOSSES: tuple[dict[str, Any], ...] = (CE, E1, E2, E3)
SWITCHED = {  # β₂ before and after the middle -> colour and label
    (SHORT, SHORT): ("#0072b2", ".95 throughout"),
    (LONG, SHORT): ("#56b4e9", ".999, then .95"),
    (SHORT, LONG): ("#e69f00", ".95, then .999"),
    (LONG, LONG): ("#000000", ".999 throughout"),
}
TITLES = (
    "400 strings, Adam's β₂ = .999",
    "400 strings, Adam's β₂ = .95",
    "400 strings: β₂ changed half-way, cross-entropy",
    "800 strings, unfinished training, β₂ = .95",
)


def plot(out: Path) -> Figure:
    """Both memories, the changed one and the main setting; the last alone, where it was run."""
    results = read_table(out / "results.csv")
    note = (
        f"dots: a run each; diamonds: mean, {t_note(results)} (a seed draws data and network), "
        "filled: with warm-up"
    )
    if not is_measured(results, switched(LONG, SHORT), HARD):
        figure, axes = figure_answering(answer(results), size=(8.4, 3.4))
        _draw_accuracy(axes[0, 0], results, {})
        add_note(figure, note)
        return figure
    figure, axes = figure_answering(_in_both_memories(results), 2, 2, size=(8.8, 7.4))
    _draw_accuracy(axes[0, 0], results, FEW | {"b2": LONG})
    _draw_accuracy(axes[0, 1], results, FEW | {"b2": SHORT})
    _draw_switched(axes[1, 0], read_table(out / "curves.csv"))
    _draw_accuracy(axes[1, 1], results, MAIN)
    add_titles(axes.ravel(), TITLES, pad=14.0)
    add_legend(figure, axes[1, 0].get_lines()[:4], num_columns=4, note=note)
    return figure


def _in_both_memories(results: pd.DataFrame) -> str:
    """The paper's effect where training strings are fitted, and what is left of it."""
    long, short = (
        in_words(
            decimal(mean_of(results, run | FEW | {"b2": b2}, HARD))
            for run in (CE | COLD, E1 | WARM, E2 | WARM)
        )
        for b2 in (LONG, SHORT)
    )
    return (
        "With every training string fitted, cross-entropy, E1 with warm-up and E2 with warm-up\n"
        f"are right on {long} of the unseen hard strings;\n"
        f"if Adam forgets sooner, on {short}"
    )


def answer(results: pd.DataFrame) -> str:
    """Accuracy without and with warm-up: of cross-entropy, then of the E-losses of the table."""
    trained = [loss for loss in LOSSES if is_measured(results, loss, HARD)]
    ce, *others = (
        " to ".join(decimal(mean_of(results, loss | warm, HARD)) for warm in (COLD, WARM))
        for loss in trained
    )
    names = [loss_name(loss["loss"]) for loss in trained[1:]]
    losses = in_words(f"{name} from {said}" for name, said in zip(names, others, strict=True))
    return f"Accuracy on unseen hard strings: warm-up takes cross-entropy from {ce}, {losses}"


def _draw_accuracy(ax: Axes, results: pd.DataFrame, where: Where) -> None:
    """A row for each loss without and with warm-up, all else as in ``where``."""
    rows = [{**where, **loss, **warm} for loss in LOSSES for warm in (COLD, WARM)]
    draw_dots(ax, results, HARD, rows, label=_name, chance=CHANCE)
    ax.set(xlim=(-0.02, 1.03), xlabel="accuracy on unseen hard strings")


def _name(factors: Where) -> str:
    kept = ("loss", "lam", "b", "warmup_steps")
    return name_of({factor: value for factor, value in factors.items() if factor in kept})


def _draw_switched(ax: Axes, curves: pd.DataFrame) -> None:
    for betas, (colour, label) in SWITCHED.items():
        curve = curve_of(curves, switched(*betas), "test_hard_accuracy")
        plot_curve(ax, curve, colour=colour, label=f"β₂ = {label}", num_sems=t_sems)
    ax.axvline(3_750, color="#777777", linestyle=":", linewidth=1.2)
    ax.set(ylim=(0.0, 1.0), xlabel="updates", ylabel="accuracy on unseen hard strings")
