"""Accuracy on unseen hard strings against three measures of curvature, a dot for each network."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import (
    LOSS_COLOURS,
    add_chance_line,
    add_legend,
    add_question,
    add_titles,
    new_figure,
)
from experiments.flat_elearn.settings import (
    CE,
    E2,
    FISHER,
    HARD,
    LOSSES,
    MATCHED_CE,
    MEASURES,
    NONE,
    WARM,
    matched,
)
from experiments.harness.figures import count, decimal, mean_of
from experiments.harness.tables import read_results, values_of

CHANCE = 1 / 26


def plot(out: Path) -> Figure:
    """Above: at equal training cross-entropy. Below: networks as they are."""
    results = read_results(out / "results.csv")
    figure, axes = new_figure(2, len(MEASURES), size=(9.4, 6.4), share_y=True)
    add_question(figure, answer(results))
    for column, measure in zip(axes.T, MEASURES, strict=True):
        for ax, metric in zip(column, (matched(measure), measure), strict=True):
            _draw(ax, results, metric)
            add_chance_line(ax, CHANCE, label=ax is axes[0, -1])
    for row, words in zip(axes, (f"at {decimal(MATCHED_CE)} nats", "as they are"), strict=True):
        row[0].set_ylabel(f"unseen hard strings,\nnetworks {words}")
        row[0].set_ylim(0.0, 1.03)
    add_titles(axes.ravel(), [*MEASURES.values()] * 2)
    note = (
        f"dots: a network each, {count(results)} of each setting, filled: trained with warm-up; "
        "diamonds: means of accuracy and logarithm"
    )
    add_legend(figure, _handles(), num_columns=6, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The Fisher trace of E2 over that of cross-entropy, at equal loss and as they are."""
    shown = []
    for warm, words in ((NONE, "without"), (WARM, "with")):
        ratios = [
            np.exp(mean_of(results, E2 + warm, metric) - mean_of(results, CE + warm, metric))
            for metric in (matched(FISHER), FISHER)
        ]
        right = [decimal(mean_of(results, loss + warm, HARD)) for loss in (E2, CE)]
        equal, own = (decimal(r) if np.isfinite(r) else "(not reached)" for r in ratios)
        shown.append(
            f"{words} warm-up × {equal} at equal loss, × {own} as they are "
            f"({right[0]} against {right[1]} right)"
        )
    return "Fisher trace of E2's networks over cross-entropy's:\n" + "\n".join(shown)


def _draw(ax: Axes, results: pd.DataFrame, metric: str) -> None:
    for loss in LOSSES:
        colour = LOSS_COLOURS[loss.partition(" ")[0]]
        for warm, face in ((NONE, "white"), (WARM, colour)):
            columns = [values_of(results, loss + warm, name) for name in (metric, HARD)]
            pair = pd.concat(columns, axis=1).dropna().to_numpy()
            if not len(pair):  # no network reaches the loss at which they are compared
                continue
            for (x, y), marker, size in ((pair.T, "o", 4), (pair.mean(0), "D", 7)):
                ax.plot(
                    np.exp(x), y, marker, color=colour, markerfacecolor=face, markersize=size,
                    alpha=0.6 if marker == "o" else 1.0, zorder=3 if marker == "o" else 4,
                )  # fmt: skip
    ax.set_xscale("log")


def _handles() -> list[Line2D]:
    losses = [
        Line2D([], [], color=LOSS_COLOURS[loss.partition(" ")[0]], marker="o", linestyle="",
               label=loss)
        for loss in LOSSES
    ]  # fmt: skip
    faces = {"without warm-up": "white", "with warm-up": "#555555"}
    return [
        *losses,
        *(
            Line2D([], [], color="#555555", marker="o", linestyle="", markerfacecolor=face, label=t)
            for t, face in faces.items()
        ),
    ]
