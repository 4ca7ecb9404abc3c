"""Margin ratios of every optimizer, on one-hot data and on larger supports."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from el_jax.linear_ntp.theory.norms import NORMS
from el_jax.plots import add_legend, add_titles
from experiments.harness.figures import Line, decimal, draw_means, figure_answering, t_note
from experiments.harness.statistics import t_interval
from experiments.harness.tables import values_of
from experiments.ntp_optimizers.run import OWN_NORM, SUPPORT_SIZES, setting

METHODS = {  # name and colour
    "gd": ("gradient descent", "#000000"),
    "ngd": ("normalised GD", "#e69f00"),
    "sign": ("sign descent", "#d55e00"),
    "adam": ("Adam", "#0072b2"),
    "spectral": ("spectral descent", "#009e73"),
    "muon": ("Muon", "#cc79a7"),
}
LINE_STYLES = {"frobenius": "-", "max": (0, (4, 1.5)), "spectral": (0, (1, 1))}
TITLES = ("One-hot data: S = 1 next token", "S = 3 tokens after each context")
COURSES = ("S = 1, along training", "S = 3, along training")
FRAME: dict[str, Any] = {"fill": False, "edgecolor": "#d55e00", "linewidth": 2.2}
DARK = 0.55  # ratio from which a cell's background is dark


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """For each support size, a matrix of methods by norms, and each method's ratio over time."""
    figure, axes = figure_answering(
        answer(results), 2, len(SUPPORT_SIZES), size=(8.4, 6.6), heights=(3.0, 2.4)
    )
    halves = [_draw(ax, results, S) for S, ax in zip(SUPPORT_SIZES, axes[0], strict=True)]
    for S, ax in zip(SUPPORT_SIZES, axes[1], strict=True):
        _draw_course(ax, curves, S)
    for ax in axes[:, 1]:
        ax.tick_params(labelleft=False)
    axes[1, 0].set_ylabel("ratio in the method's own norm")
    add_titles(axes.ravel(), [*TITLES, *COURSES])
    frame = Rectangle((0, 0), 1, 1, **FRAME, label="(a, b) own norm of the method")
    note = (
        "margin of $P_\\perp W$ / the largest margin in that norm, after the last step (a, b) and "
        f"along training (c, d)\nbands: {t_note(results, 'problems')}; in (a, b) it is within "
        f"± {decimal(max(halves))}"
    )
    handles = [frame, *axes[1, 0].get_legend_handles_labels()[0]]
    add_legend(figure, handles, num_columns=4, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """Number of methods that favour their own norm: the interval of its lead is above 0."""
    lead = "margin_ratio_own_lead"
    one_hot, larger = (
        sum(t_interval(values_of(results, setting(m, S), lead)).low > 0 for m in METHODS)
        for S in SUPPORT_SIZES
    )
    return (
        f"On one-hot data {one_hot} of {len(METHODS)} optimizers lean to the max margin of their "
        f"own norm,\nwith {SUPPORT_SIZES[1]} tokens after each context {larger} of {len(METHODS)} "
        "do"
    )


def _draw(ax: Axes, results: pd.DataFrame, support_size: int) -> float:
    """Draw means in a matrix; return the longest half-interval."""
    metrics = [f"margin_ratio_{norm}" for norm in NORMS]
    found = [
        [t_interval(values_of(results, setting(method, support_size), m)) for m in metrics]
        for method in METHODS
    ]
    draw_matrix(
        ax,
        np.array([[interval.mean for interval in row] for row in found]),
        [name for name, _ in METHODS.values()],
        [norm.replace("frobenius", "Frobenius") for norm in NORMS],
        own=[NORMS.index(OWN_NORM[method]) for method in METHODS],
    )
    return max(interval.mean - interval.low for row in found for interval in row)


def draw_matrix(
    ax: Axes, means: np.ndarray, methods: Sequence[str], norms: Sequence[str], own: Sequence[int]
) -> None:
    """Draw the share of the largest margin of each method and norm, and frame its own norm's."""
    ax.imshow(means, vmin=0.0, vmax=1.0, cmap="Blues", aspect="auto")
    for (row, column), mean in np.ndenumerate(means):
        text = ax.text(column, row, decimal(mean), ha="center", va="center", fontsize=9.5)
        text.set_color("white" if mean > DARK else "black")
        if column == own[row]:
            text.set_fontweight("bold")
            ax.add_patch(Rectangle((column - 0.47, row - 0.44), 0.94, 0.88, **FRAME))
    ax.set_xticks(range(len(norms)), norms)
    ax.set_yticks(range(len(methods)), methods)
    ax.grid(visible=False)
    ax.set_xlabel("norm of the margin")


def _draw_course(ax: Axes, curves: pd.DataFrame, support_size: int) -> None:
    lines = [
        Line(name, setting(method, support_size), colour, LINE_STYLES[OWN_NORM[method]])
        for method, (name, colour) in METHODS.items()
    ]
    draw_means(ax, curves, "margin_ratio_own", lines)
    ax.set(xscale="log", ylim=(-0.5, 1.05), xlabel="step")
