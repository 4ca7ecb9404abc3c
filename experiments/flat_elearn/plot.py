"""Accuracy on unseen hard strings against three measures of curvature, a dot for each network."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

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
    FISHER,
    HARD,
    LOSSES,
    MATCHED_CE,
    MEASURES,
    NONE,
    WARM,
    matched,
)
from experiments.harness.figures import count, decimal, in_words, mean_of
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
    """Fisher traces of the E-losses over cross-entropy's at equal loss, beside what is right."""
    lines = ["At equal loss, Fisher traces over cross-entropy's (hard strings right):"]
    for warm, words in ((NONE, "without warm-up"), (WARM, "with warm-up")):
        shown = []
        for loss in LOSSES[1:]:
            traces = [mean_of(results, each + warm, matched(FISHER)) for each in (loss, CE)]
            ratio = np.exp(traces[0] - traces[1])
            times = f"× {decimal(ratio)}" if np.isfinite(ratio) else "(not reached)"
            shown.append(f"{loss.split()[0]} {times} ({_right(results, loss + warm)})")
        lines.append(f"{words} {in_words(shown)}; cross-entropy ({_right(results, CE + warm)})")
    return "\n".join(lines)


def _right(results: pd.DataFrame, setting: str) -> str:
    return decimal(mean_of(results, setting, HARD))


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
    low, high = ax.get_xlim()
    if high < 20 * low:  # the default names too few numbers, or all of them
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())


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
