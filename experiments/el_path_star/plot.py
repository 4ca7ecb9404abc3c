"""Exact match of every seed, and the share of seeds that found the arm, a column for each graph."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.el_path_star.claims import (
    ABOVE_CHANCE,
    CE,
    E1,
    E1_WEAK,
    E2,
    E3,
    EXACT_MATCH,
    SMOOTHED,
    chance,
    on,
    share_found,
)
from experiments.el_path_star.run import CONTROLS, GRAPHS
from experiments.harness.figures import (
    count,
    decimal,
    draw_dots,
    figure_answering,
    lines_in,
    stated,
    t_note,
)
from experiments.harness.names import name_of
from experiments.harness.statistics import wilson_interval
from experiments.harness.tables import Where, levels

DRAWN = "#444444"


def plot(results: pd.DataFrame) -> Figure:
    """Upper row: exact match; lower row: share of seeds above 1/d."""
    figure, axes = figure_answering(answer(results), 2, len(GRAPHS), size=(9.6, 9.4), share_x=True)
    for column, graph in zip(axes.T, GRAPHS, strict=True):
        methods = methods_on(results, graph)
        draw_dots(column[0], results, EXACT_MATCH, lines_in(results, methods.values()))
        guess = column[0].axvline(chance(graph), color=DRAWN, linestyle=":", linewidth=1, zorder=1)
        guess.set_gid("chance")
        _draw_shares(column[1], results, [*methods.values()])
        column[0].set_xlabel("exact match of the path")
        column[1].set_xlabel("share of seeds that found the arm")
        for ax in column:
            ax.set(xlim=(-0.03, 1.03), yticks=range(len(methods)))
            ax.set_yticklabels(methods if graph == next(iter(GRAPHS)) else [])
    add_titles(axes.ravel(), [*GRAPHS] * 2)
    add_note(
        figure,
        f"upper row: dots: a run each; diamonds: mean, {t_note(results)}; dotted: 1/d\n"
        f"lower row: seeds above 1/d + {ABOVE_CHANCE:g}, 95 % Wilson interval over "
        f"{count(results)}",
    )
    return figure


def methods_on(results: pd.DataFrame, graph: str) -> dict[str, dict[str, Any]]:
    """The settings on a graph by their names: losses without and with warm-up, then controls."""
    warm_up = levels(results, "warmup_steps")[-1]
    losses = [
        (loss, steps)
        for loss in (CE, E1, E1_WEAK, E2, E3, SMOOTHED)
        for steps in (0, warm_up)
        if loss is not SMOOTHED or steps
    ]
    return {
        **{
            name_of(loss | {"warmup_steps": steps}): on(graph, steps) | loss
            for loss, steps in losses
        },
        **{control: on(graph, warm_up, control) for control in CONTROLS},
    }


def answer(results: pd.DataFrame) -> str:
    """The exact match of cross-entropy, of E1 with warm-up and of later heads on every graph."""
    shown, heads = [], "multi-token heads"
    for graph in GRAPHS:
        methods = methods_on(results, graph)
        plain, e1, later = (
            stated(results, methods[name], EXACT_MATCH)
            for name in ("cross-entropy", "E1 λ=1, warm-up", heads)
        )
        shown.append(
            f"{graph}, 1/d = {decimal(chance(graph))}: cross-entropy {plain}, "
            f"E1 with warm-up {e1}, {heads} {later}"
        )
    return "Whole path right\n" + "\n".join(shown)


def _draw_shares(ax: Axes, results: pd.DataFrame, settings: Sequence[Where]) -> None:
    for row, setting in enumerate(settings):
        share, num = share_found(results, setting)
        low, high = wilson_interval(share, num)
        ends = np.array([[share - low], [high - share]])
        ax.errorbar(
            share, row, xerr=ends, fmt="o", color=DRAWN, capsize=3, markersize=5, elinewidth=1.2
        )
    ax.set_ylim(len(settings) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
