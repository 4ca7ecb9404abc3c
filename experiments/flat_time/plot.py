"""Divergence, and what probes and traces did since saturation, a column for each world."""

from pathlib import Path

import numpy as np
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
    ADAMW,
    AFTERWARDS,
    KL,
    SATURATED_STEP,
    SGD,
    SLOW,
    TRACES,
    WORLDS,
    named,
    since,
)
from experiments.harness.figures import decimal, in_words, mean_of, t_note, t_sems
from experiments.harness.tables import curve_table, read_curves, read_results

COLOURS = {ADAMW: "#0072b2", SGD: "#d55e00", SLOW: "#e6ab6f"}
SHORT = {ADAMW: "AdamW", SGD: "SGD", SLOW: "slow SGD"}
ROWS = {
    (KL,): "KL from the truth, nats",
    ACCURACIES: "probe, points\nsince saturation",
    TRACES: "trace / that\nat saturation",
}
FACTORS = {0.25: "1/4", 0.5: "1/2", 1.0: "1", 1.5: "1.5"}  # labelled ones of a trace


def plot(out: Path) -> Figure:
    """Rows: divergence, probes, traces; the update at which AdamW's rate is 0 is marked."""
    results, curves = read_results(out / "results.csv"), read_curves(out / "curves.csv")
    curves = since_saturation(results, curves)
    figure, axes = new_figure(len(ROWS), len(WORLDS), size=(8.4, 7.6))
    add_question(figure, answer(results))
    for column, world in zip(axes.T, WORLDS, strict=True):
        for ax, metrics in zip(column, ROWS, strict=True):
            _draw(ax, results, curves, world, metrics)
        column[0].set_yscale("log")
        column[2].set_yticks(np.log([*FACTORS]), [*FACTORS.values()])
        column[-1].set_xlabel("updates")
    for row, words in zip(axes, ROWS.values(), strict=True):
        row[0].set_ylabel(words)
    add_titles(axes.ravel(), [*WORLDS.values()] * len(ROWS))
    note = (
        f"bands: {t_note(results)}; a seed draws world, data and network, and is its own start\n"
        "until the upright line all are AdamW at a falling rate, and the same"
    )
    add_legend(figure, _handles(), num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The change of KL, probe and trace after saturation in every setting."""
    shown = []
    for world, name in WORLDS.items():
        of_world = []
        for way in AFTERWARDS:
            setting = named(world, way)
            gain = 100 * mean_of(results, setting, since(ACCURACIES[0]))
            factor = np.exp(mean_of(results, setting, since(TRACES[0])))
            points = f"{decimal(gain, 1, signed=True)} points"
            of_world.append(f"{SHORT[way]} {points} (× {decimal(factor)})")
        shown.append(f"{name}: {in_words(of_world)}")
    return "Probe and (Fisher trace) after the loss has levelled off\n" + "\n".join(shown)


def since_saturation(results: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """The curves; accuracies as points, traces as logarithms, less those at saturation."""
    steps = results[results["metric"] == SATURATED_STEP].groupby("setting")["value"].first()
    of_run = ["setting", "seed", "metric"]
    values = curves["value"].where(~curves["metric"].isin(ACCURACIES), 100 * curves["value"])
    values = values.where(~curves["metric"].isin(TRACES), np.log(values))
    curves = curves.assign(value=values)
    at = curves[curves["step"] == curves["setting"].map(steps)].set_index(of_run)["value"]
    start = curves[of_run].merge(at.rename("start"), left_on=of_run, right_index=True, how="left")
    changes = curves["metric"] != KL
    return curves.assign(value=curves["value"] - start["start"].where(changes, 0.0))


def _draw(
    ax: Axes, results: pd.DataFrame, curves: pd.DataFrame, world: str, metrics: tuple[str, ...]
) -> None:
    table = curve_table(curves)
    for way, colour in COLOURS.items():
        setting = named(world, way)
        for metric, style in zip(metrics, (SOLID, DASHED), strict=False):
            plot_curves(
                ax, table, metric, [setting],
                colours=[colour], line_style=style, num_sems=t_sems,
            )  # fmt: skip
    saturated = mean_of(results, named(world, ADAMW), SATURATED_STEP)
    ax.axvline(saturated, color="#555555", linewidth=0.9, zorder=1)


def _handles() -> list[Line2D]:
    return [
        *(Line2D([], [], color=colour, label=f"then {way}") for way, colour in COLOURS.items()),
        Line2D([], [], color="#555555", label="nearer label; Fisher trace"),
        Line2D([], [], color="#555555", linestyle=DASHED, label="farther label; scale-free trace"),
    ]
