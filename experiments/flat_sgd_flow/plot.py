"""Distance from balance on the solvable model, and the trace of a network, under SGD and flow."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import COLOURS, THEORY_COLOUR, add_legend, add_titles
from experiments.flat_sgd_flow.product import CURVATURE
from experiments.flat_sgd_flow.run import FULL, NETWORK
from experiments.harness.figures import (
    count,
    curve_of,
    decimal,
    figure_answering,
    key,
    mean_of,
    t_note,
    t_sems,
    ticks_at,
)
from experiments.harness.tables import levels, select, values_of

BLACK, BLUE, _, GREEN = COLOURS
RATE_COLOURS = (BLACK, BLUE, "#e69f00", GREEN)  # from the smallest
MARKERS = ("o", "s", "^", "D")  # of batches, from the smallest
CONTROL = "#8c8c8c"
TITLES = (
    "Solvable model, rescaled time",
    "Network, rescaled time",
    "Fall over that of the flow",
)


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Left: D. Middle: trace of a network, its share of the start. Right: ratios of falls."""
    figure, axes = figure_answering(answer(results), 1, 3, size=(9.6, 4.6))
    _draw_paths(axes[0, 0], curves, "product", "distance", CURVATURE)
    axes[0, 0].set(xlabel="a η² k / B", ylabel="D(k) / D(0), D = u² − v²")
    _draw_paths(axes[0, 1], curves, "network", "trace", 1.0)
    _draw_control(axes[0, 1], curves, results)
    axes[0, 1].set(xlabel="η² k / B", ylabel="trace of the Hessian / at the start")
    _draw_ratios(axes[0, 2], results)
    add_titles(axes.ravel(), TITLES)
    network = select(results, NETWORK, "trace")
    note = (
        f"(b) means over {count(network, 'worlds')}, each with a network of its own and all of "
        f"its noises; (c) bars: {t_note(network)}, of the network"
    )
    add_legend(figure, _handles(results), num_columns=4, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """Falls over those of the flow at the smallest rate, with noise and without."""
    rate, batch = (min(levels(results, factor)) for factor in ("rate", "batch"))
    fall = mean_of(results, NETWORK | {"rate": rate, "batch": batch}, "fall_ratio")
    control = mean_of(results, FULL, "fall_ratio")
    doubling = mean_of(results, NETWORK | {"rate": rate}, "doubling")
    return (
        f"SGD lowers the trace of a converged network {decimal(fall)} times as far as the flow "
        f"predicts,\ntwice the batch drifts at 1/{decimal(doubling)} of the rate; without noise "
        f"the fall is {decimal(control)} of the flow's"
    )


def _styles(frame: pd.DataFrame) -> tuple[dict[float, str], dict[float, str]]:
    """Colours of rates and markers of batches."""
    return (
        dict(zip(levels(frame, "rate"), RATE_COLOURS, strict=False)),
        dict(zip(levels(frame, "batch"), MARKERS, strict=False)),
    )


def _draw_paths(ax: Axes, curves: pd.DataFrame, model: str, metric: str, unit: float) -> None:
    colours, markers = _styles(curves)
    for rate, colour in colours.items():
        for batch, marker in markers.items():
            where = {"model": model, "rate": rate, "batch": batch}
            for name in (metric, "predicted"):
                steps, values = curve_of(curves, where, name)
                time = unit * rate**2 / batch * steps
                share = (values / values[:, :1]).mean(axis=0)
                if name == metric:
                    ax.plot(time, share, marker, color=colour, markersize=4, markerfacecolor="none")
                else:
                    ax.plot(time, share, color=THEORY_COLOUR, linestyle="--", zorder=1)
    ax.set_ylim(top=1.03)


def _draw_control(ax: Axes, curves: pd.DataFrame, results: pd.DataFrame) -> None:
    rate, batch = (min(levels(results, factor)) for factor in ("rate", "batch"))
    steps, traces = curve_of(curves, FULL, "trace")
    starts = values_of(results, NETWORK, "trace").to_numpy()
    share = (traces / starts[:, None]).mean(axis=0)
    ax.plot(rate**2 / batch * steps, share, "-", color=CONTROL)


def _draw_ratios(ax: Axes, results: pd.DataFrame) -> None:
    colours, markers = _styles(results)
    for model, metric, shift, fill in (
        ("product", "rate_ratio", 0.93, "none"),
        ("network", "fall_ratio", 1.07, None),
    ):
        for rate, colour in colours.items():
            for place, (batch, marker) in enumerate(markers.items()):
                where = {"model": model, "rate": rate, "batch": batch}
                values = values_of(results, where, metric)
                ax.errorbar(
                    rate * shift * 1.03 ** (place - 1),
                    values.mean(),
                    t_sems(len(values)) * values.sem(),
                    fmt=marker,
                    color=colour,
                    markersize=5,
                    markerfacecolor=fill or colour,
                    elinewidth=1,
                )
    ax.axhline(1, color=THEORY_COLOUR, linestyle="--", linewidth=1.2, zorder=1)
    ax.set(xscale="log", xlabel="rate η", ylabel="hollow: rate of D; filled: fall of the trace")
    ticks_at(ax, colours)


def _handles(results: pd.DataFrame) -> list[Line2D]:
    colours, markers = _styles(results)
    return [
        *(key(f"η = {rate:g}", colour, "o") for rate, colour in colours.items()),
        *(
            key(f"B = {batch:g}", "#555555", marker, face="none")
            for batch, marker in markers.items()
        ),
        key("the flow of Theorem 4.3", THEORY_COLOUR, style="--"),
        key("full gradient, from the second mark", CONTROL),
    ]
