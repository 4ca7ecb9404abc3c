"""Accuracy where strings are fitted, at two memories of Adam; a memory changed half-way."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import (
    CurveTable,
    add_legend,
    add_note,
    add_question,
    add_titles,
    new_figure,
    plot_curves,
    plot_seed_dots,
)
from experiments.el_copy_attribution.settings import (
    CE,
    E_LOSSES,
    FEW,
    LABELS,
    LONG,
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
    "400 strings, Adam's β₂ = .999",
    "400 strings, Adam's β₂ = .95",
    "400 strings: β₂ changed half-way, cross-entropy",
    "800 strings, unfinished training, β₂ = .95",
)


def plot(out: Path) -> Figure:
    """Both memories, the changed one and the main setting; the last alone, where it was run."""
    results = read_results(out / "results.csv")
    known = settings_with(results, HARD)
    if not known.issuperset(switched(a, b) for a in (SHORT, LONG) for b in (SHORT, LONG)):
        return _small(results, known)
    figure, axes = new_figure(2, 2, size=(8.8, 7.4))
    add_question(figure, _in_both_memories(results))
    for ax, b2 in zip(axes[0], (LONG, SHORT), strict=True):
        shown = [cell for loss in LABELS.values() for cell in cells(FEW, [loss], b2=(b2,))]
        _draw_accuracy(ax, results, shown)
        _name(ax)
    _draw_switched(axes[1, 0], curve_table(read_curves(out / "curves.csv")))
    _draw_accuracy(axes[1, 1], results, _in_main(known))
    _name(axes[1, 1])
    add_titles(axes.ravel(), TITLES, pad=14.0)
    add_legend(figure, axes[1, 0].get_lines()[:4], num_columns=4, note=_note(results))
    return figure


def _in_both_memories(results: pd.DataFrame) -> str:
    """The paper's effect where training strings are fitted, and what is left of it."""
    long, short = (
        in_words(
            decimal(mean_of(results, cells(FEW, [loss], warm_up=[warm], b2=[b2])[0], HARD))
            for loss, warm in ((CE, NONE), (LABELS["e1"], WARM), (LABELS["e2"], WARM))
        )
        for b2 in (LONG, SHORT)
    )
    return (
        "With every training string fitted, cross-entropy, E1 with warm-up and E2 with warm-up\n"
        f"are right on {long} of the unseen hard strings;\n"
        f"if Adam forgets sooner, on {short}"
    )


def _name(ax: Axes) -> None:
    """Labels that say loss and warm-up alone."""
    names = [label.get_text() for label in ax.get_yticklabels()]
    losses = [f"{loss}{warm}" for loss in LABELS.values() for warm in (NONE, WARM)]
    ax.set_yticks(range(len(names)), losses[: len(names)])


def _small(results: pd.DataFrame, known: set[str]) -> Figure:
    figure, axes = new_figure(size=(8.4, 1.8 + 0.4 * len(known)))
    add_question(figure, answer(results))
    _draw_accuracy(axes[0, 0], results, _in_main(known))
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


def _in_main(known: set[str]) -> list[str]:
    settings = [main(loss, warm_up) for loss in LABELS.values() for warm_up in (NONE, WARM)]
    return [setting for setting in settings if setting in known]


def _draw_accuracy(ax: Axes, results: pd.DataFrame, shown: list[str]) -> None:
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
