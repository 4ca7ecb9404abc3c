"""Distance from balance on the solvable model, and the trace of a network, under SGD and flow."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import THEORY_COLOUR, add_legend, add_question, add_titles, new_figure
from experiments.flat_sgd_flow.claims import PATHS, smallest_rate
from experiments.flat_sgd_flow.product import CURVATURE
from experiments.harness.figures import count, decimal, mean_of, t_note, t_sems
from experiments.harness.tables import read_curves, read_results, values_of, with_parts

COLOURS = ("#000000", "#0072b2", "#e69f00", "#009e73")  # of rates, from the smallest
MARKERS = ("o", "s", "^", "D")  # of batches, from the smallest
CONTROL = "#8c8c8c"
TITLES = (
    "Solvable model, rescaled time",
    "Network, rescaled time",
    "Fall over that of the flow",
)


def plot(out: Path) -> Figure:
    """Left: D. Middle: trace of a network, its share of the start. Right: ratios of falls."""
    results = read_results(out / "results.csv")
    curves = read_curves(out / "curves.csv")
    figure, axes = new_figure(1, 3, size=(9.6, 4.6))
    add_question(figure, answer(results))
    _draw_paths(axes[0, 0], curves, "product", "distance", CURVATURE)
    axes[0, 0].set_ylabel("D(k) / D(0), D = u² − v²")
    axes[0, 0].set_xlabel("a η² k / B")
    _draw_paths(axes[0, 1], curves, "network", "trace", 1.0)
    _draw_control(axes[0, 1], curves, results)
    axes[0, 1].set_ylabel("trace of the Hessian / at the start")
    axes[0, 1].set_xlabel("η² k / B")
    _draw_ratios(axes[0, 2], results)
    add_titles(axes.ravel(), TITLES)
    network = results[results["setting"] == "network"]
    note = (
        f"(b) means over {count(network, 'worlds')}, each with a network of its own and all of "
        f"its noises; (c) bars: {t_note(network)}, of the network"
    )
    add_legend(figure, _handles(curves), num_columns=4, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """Falls over those of the flow at the smallest rate, with noise and without."""
    rate, batches = smallest_rate(results, "network")
    first = f"network, η={rate}, B={batches[0]}"
    fall = mean_of(results, first, "fall_ratio")
    control = mean_of(results, "network without noise", "fall_ratio")
    doubling = mean_of(results, f"network, η={rate}", "doubling")
    return (
        f"SGD lowers the trace of a converged network {decimal(fall)} times as far as the flow "
        f"predicts,\ntwice the batch drifts at 1/{decimal(doubling)} of the rate; without noise "
        f"the fall is {decimal(control)} of the flow's"
    )


def _styles(curves: pd.DataFrame) -> tuple[dict[str, str], dict[int, str]]:
    """Colours of rates and markers of batches."""
    paths = with_parts(curves, PATHS.format(model="(?:product|network)"))
    rates = sorted(set(paths["rate"]), key=float)
    batches = sorted(set(paths["batch"]))
    return (
        dict(zip(rates, COLOURS, strict=False)),
        dict(zip(batches, MARKERS, strict=False)),
    )


def _draw_paths(ax: Axes, curves: pd.DataFrame, model: str, metric: str, unit: float) -> None:
    colours, markers = _styles(curves)
    paths = with_parts(curves, PATHS.format(model=model))
    for (rate, batch), rows in paths.groupby(["rate", "batch"]):
        time = unit * float(rate) ** 2 / batch
        for name in (metric, "predicted"):
            table = rows[rows["metric"] == name].pivot(index="step", columns="seed", values="value")
            share = (table / table.iloc[0]).mean(axis=1)
            if name == metric:
                ax.plot(time * share.index, share, markers[batch], color=colours[rate],
                        markersize=4, markerfacecolor="none", linestyle="")  # fmt: skip
            else:
                ax.plot(time * share.index, share, color=THEORY_COLOUR, linestyle="--", zorder=1)
    ax.set_ylim(top=1.03)


def _draw_control(ax: Axes, curves: pd.DataFrame, results: pd.DataFrame) -> None:
    rate, batches = smallest_rate(results, "network")
    rows = curves[curves["setting"] == "network without noise"]
    table = rows.pivot(index="step", columns="seed", values="value")
    starts = [values_of(results, "network", "trace").loc[seed] for seed in table.columns]
    share = (table / np.array(starts)).mean(axis=1)
    ax.plot(float(rate) ** 2 / int(batches[0]) * share.index, share, "-", color=CONTROL)


def _draw_ratios(ax: Axes, results: pd.DataFrame) -> None:
    colours, markers = _styles(results)
    for model, metric, shift, fill in (
        ("product", "rate_ratio", 0.93, "none"),
        ("network", "fall_ratio", 1.07, None),
    ):
        paths = with_parts(results[results["metric"] == metric], PATHS.format(model=model))
        for (rate, batch), rows in paths.groupby(["rate", "batch"]):
            place = float(rate) * shift * 1.03 ** (list(markers).index(batch) - 1)
            values = rows["value"]
            ax.errorbar(place, values.mean(), t_sems(len(values)) * values.sem(),
                        fmt=markers[batch], color=colours[rate], markersize=5,
                        markerfacecolor=fill or colours[rate], elinewidth=1)  # fmt: skip
    ax.axhline(1, color=THEORY_COLOUR, linestyle="--", linewidth=1.2, zorder=1)
    ax.set_xscale("log")
    ticks = [float(rate) for rate in colours]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel("rate η")
    ax.set_ylabel("hollow: rate of D; filled: fall of the trace")


def _handles(curves: pd.DataFrame) -> list[Line2D]:
    colours, markers = _styles(curves)
    rates = [
        Line2D([], [], color=colour, marker="o", linestyle="", label=f"η = {rate}")
        for rate, colour in colours.items()
    ]
    batches = [
        Line2D([], [], color="#555555", marker=marker, linestyle="", markerfacecolor="none",
               label=f"B = {batch}")
        for batch, marker in markers.items()
    ]  # fmt: skip
    return [
        *rates,
        *batches,
        Line2D([], [], color=THEORY_COLOUR, linestyle="--", label="the flow of Theorem 4.3"),
        Line2D([], [], color=CONTROL, label="full gradient, from the second mark"),
    ]
