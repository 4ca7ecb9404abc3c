"""Accuracy of probes and traces at equal loss against the width, a column for each world."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_question, add_titles, new_figure
from experiments.flat_size.settings import (
    ACCURACIES,
    CONVENTIONS,
    LEVEL,
    WORLDS,
    at_equal_loss,
    named,
    widths,
)
from experiments.harness.figures import decimal, mean_of, t_note, t_sems
from experiments.harness.tables import read_results, values_of

LABELS = dict(zip(ACCURACIES, ("nearer label", "farther label"), strict=True))
LINES = {
    "trace_released": ("embedded as released, s = 1/k", "#d55e00", "-"),
    "trace_balanced": ("embedded, s = 1/√k", "#0072b2", "-"),
    "trace_matrices": ("matrices only", "#009e73", "--"),
    "trace": ("as it is", "#000000", ":"),
}


def plot(out: Path) -> Figure:
    """Above: probes. Below: traces."""
    results = read_results(out / "results.csv")
    figure, axes = new_figure(2, len(WORLDS), size=(8.4, 6.4), share_x=True)
    add_question(figure, answer(results))
    equal = at_equal_loss(results)
    for column, world in zip(axes.T, WORLDS, strict=True):
        trained = widths(results, world)
        for metric, marker in zip(ACCURACIES, "Ds", strict=True):
            _line(column[0], equal, trained, world, metric, LABELS[metric], "#555555", "-", marker)
        for metric in CONVENTIONS:
            _line(column[1], equal, trained, world, metric, *LINES[metric], "D")
        column[1].set(xscale="log", yscale="log", xlabel="width")
        column[1].set_xticks(trained, [str(width) for width in trained])
        column[1].minorticks_off()
    axes[0, 0].set_ylabel("accuracy of the probe")
    axes[1, 0].set_ylabel("Fisher trace")
    add_titles(axes.ravel(), [*WORLDS.values()] * 2)
    handles = [ax.get_legend_handles_labels()[0] for ax in axes[:, 0]]
    note = f"dots: a seed each, which draws world, data and network; markers: mean, {t_note(equal)}"
    add_legend(figure, [*handles[0], *handles[1]], num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The numbers of the narrowest and the widest network in every world."""
    shown, equal = [], at_equal_loss(results)
    for world, name in WORLDS.items():
        trained = widths(results, world)
        ends = [named(world, width) for width in (trained[0], trained[-1])]

        def of(metric: str, ends: list[str] = ends) -> list[float]:
            return [mean_of(equal, setting, metric) for setting in ends]

        low, high = of(ACCURACIES[0])
        ratios = [decimal(last / first) for first, last in map(of, list(CONVENTIONS)[:2])]
        shown.append(
            f"{name} at {decimal(of(LEVEL)[0])} nats, width {trained[0]} to {trained[-1]}: "
            f"probe {decimal(low)} to {decimal(high)}, trace × {ratios[0]} (s = 1/k), "
            f"× {ratios[1]} (s = 1/√k)"
        )
    return "Networks of equal divergence from the truth\n" + "\n".join(shown)


def _line(
    ax: Axes, equal: pd.DataFrame, trained: list[int], world: str, metric: str,
    label: str, colour: str, style: str, marker: str,
) -> None:  # fmt: skip
    columns = [values_of(equal, named(world, w), metric) for w in trained]
    means = [column.mean() for column in columns]
    bars = [t_sems(len(column)) * column.sem() if len(column) > 1 else 0.0 for column in columns]
    ax.errorbar(
        trained, means, yerr=bars, color=colour, linestyle=style, marker=marker, markersize=5,
        capsize=3, label=label, zorder=3,
    )  # fmt: skip
    for width, column in zip(trained, columns, strict=True):
        ax.plot([1.04 * width] * len(column), column, "o", color=colour, alpha=0.4, markersize=3)
