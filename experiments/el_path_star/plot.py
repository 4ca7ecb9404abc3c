"""Exact match of every seed, and the share of seeds that found the arm, a column for each graph."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_question, add_titles, new_figure, plot_seed_dots
from experiments.el_path_star.settings import (
    ABOVE_CHANCE,
    CE,
    CONTROLS,
    E1_WARM_UP,
    EXACT_MATCH,
    GRAPHS,
    HEADS,
    LOSSES,
    chance,
    named,
    share_found,
)
from experiments.harness.figures import count, decimal, mean_of, t_note, t_sems
from experiments.harness.statistics import wilson_interval
from experiments.harness.tables import read_results, seed_table, settings_with

METHODS = (*LOSSES, *CONTROLS)
DRAWN = "#444444"


def plot(out: Path) -> Figure:
    """Upper row: exact match; lower row: share of seeds above 1/d."""
    results = read_results(out / "results.csv")
    known = settings_with(results, EXACT_MATCH)
    methods = [m for m in METHODS if all(named(m, graph) in known for graph in GRAPHS)]
    figure, axes = new_figure(2, len(GRAPHS), size=(9.6, 9.4), share_x=True)
    add_question(figure, answer(results))
    for column, graph in zip(axes.T, GRAPHS, strict=True):
        settings = [named(method, graph) for method in methods]
        plot_seed_dots(column[0], seed_table(results), EXACT_MATCH, settings, num_sems=t_sems)
        guess = column[0].axvline(chance(graph), color=DRAWN, linestyle=":", linewidth=1, zorder=1)
        guess.set_gid("chance")
        _draw_shares(column[1], results, graph, methods)
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


def answer(results: pd.DataFrame) -> str:
    """The exact match of cross-entropy, of E1 with warm-up and of later heads on every graph."""
    shown = []
    for graph in GRAPHS:
        plain, e1, heads = (
            decimal(mean_of(results, named(m, graph), EXACT_MATCH)) for m in (CE, E1_WARM_UP, HEADS)
        )
        shown.append(
            f"{graph}, 1/d = {decimal(chance(graph))}: cross-entropy {plain}, "
            f"E1 with warm-up {e1}, {HEADS} {heads}"
        )
    return "Whole path right\n" + "\n".join(shown)


def _draw_shares(ax: Axes, results: pd.DataFrame, graph: str, methods: list[str]) -> None:
    for row, method in enumerate(methods):
        share, num = share_found(results, method, graph)
        low, high = wilson_interval(share, num)
        ends = np.array([[share - low], [high - share]])
        ax.errorbar(
            share, row, xerr=ends, fmt="o", color=DRAWN, capsize=3, markersize=5, elinewidth=1.2
        )
    ax.set_ylim(len(methods) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
