"""Accuracy on unseen hard strings against three measures of curvature, a dot for each network."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from el_jax.plots import add_chance_line, add_legend, add_titles
from experiments.flat_elearn.claims import CE, E_LOSSES, HARD, WORDS, pairs_of
from experiments.flat_elearn.probe import FISHER, MATCHED, MATCHED_CE, MEASURES
from experiments.harness.figures import (
    colour_of,
    count,
    decimal,
    figure_answering,
    in_words,
    is_filled,
    key,
    mean_of,
    stated,
)
from experiments.harness.names import loss_name, name_of
from experiments.harness.tables import cells, exactly, levels

CHANCE = 1 / 26
GREY = "#555555"


def plot(results: pd.DataFrame) -> Figure:
    """Above: at equal training cross-entropy. Below: networks as trained."""
    figure, axes = figure_answering(
        answer(results), 2, len(MEASURES), size=(9.4, 6.4), share_y=True
    )
    for column, measure in zip(axes.T, MEASURES, strict=True):
        for ax, metric in zip(column, (MATCHED + measure, measure), strict=True):
            _draw(ax, results, metric)
            add_chance_line(ax, CHANCE, label=ax is axes[0, -1])
    for row, words in zip(axes, (f"at {decimal(MATCHED_CE)} nats", "as they are"), strict=True):
        row[0].set_ylabel(f"unseen hard strings,\nnetworks {words}")
        row[0].set_ylim(0.0, 1.03)
    add_titles(axes.ravel(), [*WORDS.values()] * 2)
    note = (
        f"dots: a network each, {count(results)} of each setting, filled: trained with warm-up; "
        "diamonds: means of accuracy and logarithm"
    )
    handles = [key(name_of(loss), colour_of(loss), "o") for loss in (CE, *E_LOSSES)]
    handles += [key("without warm-up", GREY, "o", face="white"), key("with warm-up", GREY, "o")]
    add_legend(figure, handles, num_columns=6, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The E-losses' Fisher traces over cross-entropy's at equal loss, and their accuracy."""
    lines = ["At equal loss, Fisher traces over cross-entropy's (hard strings right):"]
    for steps in levels(results, "warmup_steps"):
        at = {"warmup_steps": steps}
        right = {name_of(loss): stated(results, loss | at, HARD) for loss in (CE, *E_LOSSES)}
        base = mean_of(results, CE | at, MATCHED + FISHER)
        shown = []
        for loss in E_LOSSES:
            ratio = np.exp(mean_of(results, loss | at, MATCHED + FISHER) - base)
            times = f"× {decimal(ratio)}" if np.isfinite(ratio) else "(not reached)"
            shown.append(f"{loss_name(loss['loss'])} {times} ({right[name_of(loss)]})")
        words = "with" if steps else "without"
        lines.append(f"{words} warm-up {in_words(shown)}; cross-entropy ({right['cross-entropy']})")
    return "\n".join(lines)


def _draw(ax: Axes, results: pd.DataFrame, metric: str) -> None:
    for cell in cells(results, {}, metric):
        colour = colour_of(cell)
        pairs = pairs_of(results, exactly(results, cell), metric)
        if not len(pairs):  # no network reaches the loss used for the comparison
            continue
        look: dict[str, Any] = {
            "color": colour,
            "markerfacecolor": colour if is_filled(cell) else "white",
        }
        x, y = pairs.T
        ax.plot(np.exp(x), y, "o", markersize=4, alpha=0.6, zorder=3, **look)
        ax.plot(np.exp(x.mean()), y.mean(), "D", markersize=7, zorder=4, **look)
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    if high < 20 * low:  # the default names too few numbers, or all of them
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
