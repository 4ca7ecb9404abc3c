"""Accuracy in the main setting, the effects of all factors, and a memory changed half-way."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import (
    CurveTable,
    add_legend,
    add_note,
    add_question,
    add_titles,
    colours_of,
    new_figure,
    plot_curves,
    plot_seed_dots,
    spread,
)
from experiments.el_copy_attribution.effects import effects
from experiments.el_copy_attribution.settings import (
    CE,
    E_LOSSES,
    FEW,
    LABELS,
    LONG,
    NARROW,
    NONE,
    SHORT,
    WARM,
    cells,
    main,
    switched,
)
from experiments.harness.figures import decimal, in_words, mean_of, t_note, t_sems
from experiments.harness.tables import (
    curve_table,
    read_curves,
    read_results,
    seed_table,
    settings_with,
    values_of,
)

HARD = "test_precise_hard_accuracy"
CHANCE = 1 / 26
SWITCHED = {
    switched(SHORT, SHORT): ("#0072b2", ".95 throughout"),
    switched(LONG, SHORT): ("#56b4e9", ".999, then .95"),
    switched(SHORT, LONG): ("#e69f00", ".95, then .999"),
    switched(LONG, LONG): ("#000000", ".999 throughout"),
}
TITLES = (
    "800 strings, width 64, β₂ = .95",
    "β₂ changed half-way, cross-entropy",
    "800 strings, width 32: effects",
    "400 strings: effects",
    "400 strings: deepest fall of runs that had fitted",
    "400 strings: update over gradient",
)


def plot(out: Path) -> Figure:
    """The main setting; under it the factorials and the changed memory, where they were run."""
    results = read_results(out / "results.csv")
    known = settings_with(results, HARD)
    if not known.issuperset(switched(a, b) for a in (SHORT, LONG) for b in (SHORT, LONG)):
        return _small(results, known)
    curves = curve_table(read_curves(out / "curves.csv"))
    figure, axes = new_figure(3, 2, size=(8.4, 10.4))
    add_question(figure, answer(results))
    _draw_accuracy(axes[0, 0], results, known)
    _draw_switched(axes[0, 1], curves)
    for ax, place in zip(axes[1], (NARROW, FEW), strict=True):
        _draw_effects(ax, effects(results, HARD, place))
    _draw_falls(axes[2, 0], results)
    _draw_ratio(axes[2, 1], curves)
    add_titles(axes.ravel(), TITLES, pad=14.0)
    add_legend(figure, axes[0, 1].get_lines()[:4], num_columns=4, note=_note(results))
    return figure


def _small(results: pd.DataFrame, known: set[str]) -> Figure:
    figure, axes = new_figure(size=(8.4, 1.8 + 0.4 * len(known)))
    add_question(figure, answer(results))
    _draw_accuracy(axes[0, 0], results, known)
    add_note(figure, _note(results))
    return figure


def answer(results: pd.DataFrame) -> str:
    """Accuracy without and with warm-up: of cross-entropy, then of the E-losses of the table."""
    known = settings_with(results, HARD)
    trained = [loss for loss in E_LOSSES if main(loss, WARM) in known]
    means = {
        (loss, warm_up): decimal(mean_of(results, main(loss, warm_up), HARD))
        for loss in (CE, *trained)
        for warm_up in (NONE, WARM)
    }
    losses = in_words(
        f"{loss.split(' ')[0]} from {means[loss, NONE]} to {means[loss, WARM]}" for loss in trained
    )
    return (
        "Accuracy on unseen hard strings: warm-up takes cross-entropy from "
        f"{means[CE, NONE]} to {means[CE, WARM]}, {losses}"
    )


def _note(results: pd.DataFrame) -> str:
    return (
        f"dots: a run each; diamonds: mean, {t_note(results)} (a seed draws data and network), "
        "filled: with warm-up"
    )


def _draw_accuracy(ax: Axes, results: pd.DataFrame, known: set[str]) -> None:
    settings = [main(loss, warm_up) for loss in LABELS.values() for warm_up in (NONE, WARM)]
    shown = [setting for setting in settings if setting in known]
    plot_seed_dots(ax, seed_table(results), HARD, shown, chance=CHANCE, num_sems=t_sems)
    ax.set(xlim=(-0.02, 1.03), xlabel="accuracy on unseen hard strings")


def _draw_switched(ax: Axes, curves: CurveTable) -> None:
    labels = {setting: f"β₂ = {label}" for setting, (_, label) in SWITCHED.items()}
    colours = [colour for colour, _ in SWITCHED.values()]
    plot_curves(
        ax, curves, "test_hard_accuracy", [*SWITCHED], colours=colours, labels=labels,
        num_sems=t_sems,
    )  # fmt: skip
    ax.axvline(3_750, color="#777777", linestyle=":", linewidth=1.2)
    ax.set(ylim=(0.0, 1.0), xlabel="updates", ylabel="accuracy on unseen hard strings")


def _draw_ratio(ax: Axes, curves: CurveTable) -> None:
    for setting, (colour, _) in SWITCHED.items():
        update, gradient = (curves[setting, f"batch_{n}_norm"] for n in ("update", "grad"))
        middle = np.median(update.values / gradient.values, axis=0)
        ax.plot(update.steps, middle, color=colour)
    ax.axvline(3_750, color="#777777", linestyle=":", linewidth=1.2)
    ax.set(yscale="log", xlabel="updates", ylabel="norm of update / of gradient")


def _draw_effects(ax: Axes, found: pd.DataFrame) -> None:
    """Main effects above, interactions below a line, with their intervals."""
    found = found[~found.index.str.contains("β₂ .99")]
    rows = np.arange(len(found))
    clear = (found["low"] > 0) | (found["high"] < 0)
    for row, (_, effect), sure in zip(rows, found.iterrows(), clear, strict=True):
        ax.plot([effect["low"], effect["high"]], [row, row], color="black", linewidth=1.2)
        fill = "black" if sure else "white"
        ax.plot(effect["mean"], row, "D", color="black", markerfacecolor=fill, markersize=5)
    ax.axvline(0.0, color="#777777", linestyle=":", linewidth=1.2)
    ax.axhline((~found.index.str.contains("×")).sum() - 0.5, color="#cccccc", linewidth=0.8)
    ax.set_yticks(rows, found.index)
    ax.set_ylim(len(found) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("change of accuracy (filled: interval without 0)")


def _draw_falls(ax: Axes, results: pd.DataFrame) -> None:
    """A dot a run: the lowest accuracy on hard training strings after they had been fitted."""
    rows = [(loss, b2) for loss in LABELS.values() for b2 in (LONG, SHORT)]
    for row, (loss, b2) in enumerate(rows):
        names = cells(FEW, [loss], b2=(b2,))
        values = pd.concat([values_of(results, name, "lowest_once_fitted") for name in names])
        places = row + spread(len(values), 0.5)
        ax.plot(values, places, "o", color=colours_of([loss])[0], alpha=0.5, markersize=3.5)
    ax.set_yticks(range(len(rows)), [f"{loss} β₂={b2:g}" for loss, b2 in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    ax.set(xlim=(-0.02, 1.03), xlabel="lowest accuracy on hard training strings")
