"""Divergence, accuracy of probes and traces against the updates, a column for each world."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import (
    EASY as DASHED,
    HARD as SOLID,
    add_legend,
    add_question,
    add_titles,
    new_figure,
    plot_curves,
)
from experiments.flat_time.settings import (
    ACCURACIES,
    KL,
    OPTIMIZERS,
    WORLDS,
    converged_step,
    named,
    since,
)
from experiments.harness.figures import decimal, in_words, mean_of, t_note, t_sems
from experiments.harness.tables import curve_table, read_curves, read_results

COLOURS = {"adamw": "#0072b2", "sgd": "#d55e00"}
TRACE, SCALE_FREE = "fisher_trace", "scale_free_trace"
ROWS = {
    (KL,): "KL from the truth, nats",
    ACCURACIES: "accuracy of the probe",
    (TRACE, SCALE_FREE): "trace",
}


def plot(out: Path) -> Figure:
    """Rows: divergence, probes, traces; the update from which the loss is converged is marked."""
    results, curves = read_results(out / "results.csv"), read_curves(out / "curves.csv")
    figure, axes = new_figure(len(ROWS), len(WORLDS), size=(8.4, 8.0))
    add_question(figure, answer(results))
    for column, world in zip(axes.T, WORLDS, strict=True):
        for ax, metrics in zip(column, ROWS, strict=True):
            _draw(ax, results, curves, world, metrics)
        for ax in (column[0], column[2]):
            ax.set_yscale("log")
        column[-1].set_xlabel("updates")
    for row, words in zip(axes, ROWS.values(), strict=True):
        row[0].set_ylabel(words)
    add_titles(axes.ravel(), [*WORLDS.values()] * len(ROWS))
    note = (
        f"bands: {t_note(results)}; a seed draws world, data and network\n"
        "from the upright line on, KL stays within .01 nats of its end (mean over seeds)"
    )
    add_legend(figure, _handles(), num_columns=4, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The change of probe and trace between convergence and the end in every setting."""
    shown = []
    for world, name in WORLDS.items():
        of_world = []
        for optimizer, called in OPTIMIZERS.items():
            setting = named(world, optimizer)
            gain = 100 * mean_of(results, setting, since(ACCURACIES[0]))
            last = mean_of(results, setting, TRACE)
            before = last - mean_of(results, setting, since(TRACE))
            points = f"{decimal(gain, 1, signed=True)} points"
            of_world.append(f"{called} {points}, trace × {decimal(last / before)}")
        shown.append(f"{name}: {in_words(of_world)}")
    return "With the loss converged, probe and trace still change\n" + "\n".join(shown)


def _draw(
    ax: Axes, results: pd.DataFrame, curves: pd.DataFrame, world: str, metrics: tuple[str, ...]
) -> None:
    table = curve_table(curves)
    for optimizer, colour in COLOURS.items():
        setting = named(world, optimizer)
        for metric, style in zip(metrics, (SOLID, DASHED), strict=False):
            plot_curves(
                ax, table, metric, [setting],
                colours=[colour], line_style=style, num_sems=t_sems,
            )  # fmt: skip
        converged = mean_of(results, setting, converged_step())
        ax.axvline(converged, color=colour, linewidth=0.9, alpha=0.7, zorder=1)
    ax.set_xscale("log")


def _handles() -> list[Line2D]:
    optimizers = [Line2D([], [], color=COLOURS[o], label=name) for o, name in OPTIMIZERS.items()]
    return [
        *optimizers,
        Line2D([], [], color="#555555", label="nearer label; Fisher trace"),
        Line2D([], [], color="#555555", linestyle=DASHED, label="farther label; scale-free trace"),
    ]
