"""Divergence, and what probes and traces did since saturation, a column for each world."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import DASHED, SOLID, add_legend, add_titles
from experiments.flat_time.claims import ASKED
from experiments.flat_time.run import ACCURACIES, TRACES, WORLDS
from experiments.harness.figures import (
    Line,
    decimal,
    draw_means,
    figure_answering,
    in_words,
    key,
    mean_of,
    stated,
    t_note,
)

WAYS = {  # name and colour of what follows saturation
    "adamw": ("AdamW", "#0072b2"),
    "sgd": ("SGD", "#d55e00"),
    "slow_sgd": ("slow SGD", "#e6ab6f"),
}
ROWS = {
    ("kl",): "KL from the truth, nats",
    ACCURACIES: "probe, points\nsince saturation",
    TRACES: "trace / that\nat saturation",
}
FACTORS = {0.25: "1/4", 0.5: "1/2", 1.0: "1", 1.5: "1.5"}  # labelled ones of a trace
GREY = "#555555"
SAME = {"afterwards": "sgd"}  # the first phase is one for all


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Rows: divergence, probes, traces; the update at which AdamW's rate is 0 is marked."""
    saturated = results.loc[results["metric"] == "saturated_step", "value"].iloc[0]
    curves = since(saturated, curves)
    figure, axes = figure_answering(answer(results), len(ROWS), len(WORLDS), size=(8.4, 7.6))
    for column, world in zip(axes.T, WORLDS, strict=True):
        for ax, metrics in zip(column, ROWS, strict=True):
            for way, (name, colour) in WAYS.items():
                for metric, style in zip(metrics, (SOLID, DASHED), strict=False):
                    line = Line(name, {"world": world, "afterwards": way}, colour, style)
                    draw_means(ax, curves, metric, [line])
            ax.axvline(saturated, color=GREY, linewidth=0.9, zorder=1)
        column[0].set_yscale("log")
        column[2].set_yticks(np.log([*FACTORS]), [*FACTORS.values()])
        column[-1].set_xlabel("updates")
    for row, words in zip(axes, ROWS.values(), strict=True):
        row[0].set_ylabel(words)
    add_titles(axes.ravel(), [world.upper() for world in WORLDS] * len(ROWS))
    note = (
        f"bands: {t_note(results)}; a seed draws world, data and network, and is its own start\n"
        "until the upright line all are AdamW at a falling rate, and the same"
    )
    add_legend(figure, _handles(), num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The change of KL, probe and trace after saturation in every setting."""
    nats = []
    for world in WORLDS:
        kl = stated(results, {"world": world} | SAME, "kl_at_saturation", 3)
        nats.append(f"{kl} nats ({world.upper()})")
    lines = [f"Probe and (Fisher trace) after KL has come to {in_words(nats)}"]
    for world in WORLDS:
        shown = []
        for way, (name, _) in WAYS.items():
            gain, log_factor = (
                mean_of(results, {"world": world, "afterwards": way}, f"{metric}_since_saturation")
                for metric in (ASKED[world][1], "fisher_trace")
            )
            points = decimal(100 * gain, 1, signed=True)
            shown.append(f"{name} {points} points (× {decimal(np.exp(log_factor))})")
        lines.append(f"{world.upper()}: {in_words(shown)}")
    return "\n".join(lines)


def since(step: float, curves: pd.DataFrame) -> pd.DataFrame:
    """The curves; accuracies as points, traces as logarithms, less those at a step."""
    of_trace = curves["metric"].isin(TRACES)
    values = curves["value"].where(~of_trace, np.log(curves["value"]))
    values = values.where(~curves["metric"].isin(ACCURACIES), 100 * values)
    curve = curves.assign(value=values)
    keys = ["world", "afterwards", "seed", "metric"]
    start = curve[curve["step"] == step].set_index(keys)["value"]
    at_start = start.reindex(pd.MultiIndex.from_frame(curve[keys])).to_numpy()
    return curve.assign(value=values - np.where(curve["metric"] == "kl", 0.0, at_start))


def _handles() -> list[Line2D]:
    return [
        *(key(f"then {name}", colour) for name, colour in WAYS.values()),
        key("nearer label; Fisher trace", GREY),
        key("farther label; scale-free trace", GREY, style=DASHED),
    ]
