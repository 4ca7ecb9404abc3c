"""Distances and traces against the divergence from the truth, a line for each training."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import DASHED, SOLID, THEORY_COLOUR, add_legend, add_titles
from experiments.flat_bartlett.run import BLIND, NARROW, PAPER_DIVERGENCE, WIDE
from experiments.harness.figures import count, decimal, figure_answering, key, mean_of
from experiments.harness.tables import Where, select, values_of

COLOURS = {"covariance": "#0072b2", "fisher": "#d55e00"}
DRAWN = 8  # worlds; more lines hide each other
WORDS = {"covariance": "covariance Σ of gradients", "fisher": "Fisher matrix F"}
STYLES: tuple[tuple[Where, Any, str], ...] = (
    (WIDE, SOLID, "width 8"),
    (NARROW, ":", "width 2"),
    (BLIND, DASHED, "width 8, blind to order"),
)


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Left: distances from the Hessian. Right: traces over the Hessian's."""
    curves = curves[curves["seed"] < DRAWN]
    figure, axes = figure_answering(answer(results), 1, 2, size=(9.0, 4.6), share_x=True)
    for matrix, colour in COLOURS.items():
        for ax, metric in zip(axes[0], (f"{matrix}_gap", f"{matrix}_trace"), strict=True):
            for network, style, _ in STYLES:
                _draw(ax, select(curves, network), metric, colour, style)
    _root(axes[0, 0], curves)
    for ax in axes[0]:
        ax.axvline(PAPER_DIVERGENCE, color="#999999", linewidth=1, zorder=1)
        ax.set(xscale="log", xlabel="KL from the truth, nats")
    axes[0, 0].set(yscale="log", ylabel="Frobenius norm of the difference, over ‖H‖")
    axes[0, 1].axhline(1, color=THEORY_COLOUR, linestyle="--", linewidth=1, zorder=1)
    axes[0, 1].set(ylim=(0, 3), ylabel="over Tr H")
    axes[0, 0].invert_xaxis()
    add_titles(axes.ravel(), ("Distance from the Hessian H", "Trace"))
    drawn = f"{curves['seed'].nunique()} of {count(results, 'worlds')}"
    note = f"a line: a training, which begins at the left; {drawn} are drawn"
    add_legend(figure, _handles(), num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """Distances at the end of every network, and the trace at the paper's divergence."""

    def of(metric: str) -> float:
        return mean_of(results, WIDE, metric)

    away, gaps = (
        pd.concat([values_of(results, network, metric) for network in (NARROW, BLIND)])
        for metric in ("divergence", "covariance_gap")
    )
    return (
        f"At saturation Σ is {decimal(of('covariance_gap'), 4)} from H on average; at the "
        f"paper's KL of {decimal(PAPER_DIVERGENCE, 3)} nats Tr F is "
        f"{decimal(of('fisher_trace_at_paper'))} of Tr H.\nNetworks that cannot be right, "
        f"{decimal(away.mean())} nats away on average, have Σ = H too, within "
        f"{decimal(gaps.max(), 5)}"
    )


def _draw(ax: Axes, curves: pd.DataFrame, metric: str, colour: str, style: Any) -> None:
    table = curves[curves["metric"].isin(("divergence", metric))]
    for _, of_seed in table.groupby("seed"):
        seen = of_seed.pivot(index="step", columns="metric", values="value").sort_index()
        seen = seen[seen["divergence"] > 0]
        ax.plot(
            seen["divergence"],
            seen[metric],
            linestyle=style,
            color=colour,
            linewidth=0.9,
            alpha=0.6,
        )


def _root(ax: Axes, curves: pd.DataFrame) -> None:
    """A line of power 1/2 below the distances."""
    ends, gaps = (select(curves, WIDE, metric)["value"] for metric in ("divergence", "fisher_gap"))
    ends = ends[ends > 0]
    low, high = ends.min(), min(ends.max(), 0.1)
    scale = 0.5 * gaps.min() / low**0.5
    ax.plot([low, high], [scale * low**0.5, scale * high**0.5], "--", color=THEORY_COLOUR)


def _handles() -> list[Line2D]:
    return [
        *(key(WORDS[name], colour) for name, colour in COLOURS.items()),
        *(key(name, "#555555", style=style) for _, style, name in STYLES),
        key("equal, or root of KL", THEORY_COLOUR, style="--"),
        key("KL of the paper's model", "#999999"),
    ]
