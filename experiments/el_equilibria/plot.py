"""The map of E1's equilibria with measured shares on it, margins, and the swap test."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import DASHED, SPARE_COLOURS, THEORY_COLOUR, add_legend, add_titles
from experiments.el_equilibria.claims import COLD, COPIES, FEW, SIZES, SMALL, WARM, over
from experiments.el_equilibria.run import STRENGTHS, penalties, window
from experiments.harness.figures import (
    Line,
    colour_of,
    decimal,
    draw_against,
    figure_answering,
    key,
    mean_of,
    t_note,
    ticks_at,
)
from experiments.harness.tables import Where, levels

SIDES: dict[str, Where] = {"with warm-up": WARM, "without warm-up": COLD}
COLOURS = ("#000000", *SPARE_COLOURS[:3])


def plot(results: pd.DataFrame) -> Figure:
    """Above, the two maps; below, the median margin and the share that copies, against λ."""
    figure, axes = figure_answering(answer(results), 2, 2, size=(8.8, 7.0))
    for ax, where in zip(axes[0], SIDES.values(), strict=True):
        _map(ax, results, where)
    _margins(axes[1, 0], results)
    draw_against(axes[1, 1], results, COPIES, _both_sides(FEW, colour_of(FEW)), "lam")
    axes[1, 1].set(xlabel="λ", ylabel="share that copies", ylim=(-0.03, 1.03))
    axes[1, 1].axvspan(*window(SIZES[0]), color=THEORY_COLOUR, alpha=0.15, linewidth=0)
    for ax in axes[1]:
        ticks_at(ax, [0.5, 1, 2, 4], base=2)
    titles = [f"share of small margins, {name}" for name in SIDES]
    titles = [*titles, "median margin of training answers", f"swap test, V = {SIZES[0]}"]
    add_titles(axes.ravel(), titles)
    entries = [key(f"V = {v}", colour, "o") for v, colour in zip(SIZES, COLOURS, strict=True)]
    entries += [
        key("equilibria of one token", THEORY_COLOUR, style=DASHED),
        key("without warm-up", "#555555", style=DASHED),
    ]
    note = f"small: right by less than a nat; bars: {t_note(results, 'data sets')}"
    add_legend(figure, entries, num_columns=6, note=note)
    return figure


def _map(ax: Axes, results: pd.DataFrame, where: Where) -> None:
    """A dot for each alphabet and strength, dark where margins are small; the window in red."""
    sizes = np.geomspace(8, 6e4, 60).round().astype(int)
    low, high = np.transpose([window(int(v)) for v in sizes])
    ax.plot(sizes, low, color=THEORY_COLOUR, linestyle=DASHED)
    ax.plot(sizes, high, color=THEORY_COLOUR, linestyle=DASHED)
    ax.fill_between(sizes, low, high, color=THEORY_COLOUR, alpha=0.1, linewidth=0)
    points = [(v, lam) for v in SIZES for lam in STRENGTHS]
    shares = [mean_of(results, {"num_classes": v, "lam": lam, **where}, SMALL) for v, lam in points]
    x, y = np.transpose(points)
    ax.scatter(x, y, c=shares, cmap="Greys", vmin=0, vmax=1, s=60, ec="#333333")
    ax.set(xlabel="classes V", ylabel="λ", xscale="log")
    ax.set_yscale("log", base=2)
    ax.set_yticks([0.5, 1, 2, 4], ["0.5", "1", "2", "4"])


def _margins(ax: Axes, results: pd.DataFrame) -> None:
    """Median margins with warm-up, and the curve of stationary ones, for each alphabet."""
    margins = np.linspace(0.05, 14, 4_000)
    for v, colour in zip(SIZES, COLOURS, strict=True):
        ax.plot(penalties(margins, v), margins, color=THEORY_COLOUR, linestyle=DASHED, lw=0.8)
        draw_against(ax, results, "median_margin", _both_sides({"num_classes": v}, colour), "lam")
    ax.set(xlabel="λ", ylabel="nats", yscale="log", xlim=(0.45, 4.5), ylim=(0.05, 14))


def _both_sides(where: Where, colour: str) -> list[Line]:
    """Lines with warm-up, filled, and without, dashed."""
    warm = Line("", {**where, **WARM}, colour, filled=True)
    return [warm, Line("", {**where, **COLD}, colour, DASHED)]


def mean_share(results: pd.DataFrame, side: str, where: Where) -> float:
    """The mean over alphabets of the share of small margins on one side of the window."""
    shares = [
        np.mean([mean_of(results, {**cell, "lam": lam}, SMALL) for lam in cell["lam"]])
        for _, cell in over(side, **where)
    ]
    return float(np.mean(shares))


def answer(results: pd.DataFrame) -> str:
    """The shares of small margins below, in and above the window."""
    if len(levels(results, "num_classes")) < len(SIZES):
        return "Smoke run: one alphabet"
    below, above = (
        float(np.mean([mean_share(results, side, where) for where in SIDES.values()]))
        for side in ("below", "above")
    )
    warm, cold = (mean_share(results, "in", where) for where in SIDES.values())
    return (
        "From about λ = 1 on E1 leads to margins under a nat. Share of them: below the window\n"
        f"with two equilibria {decimal(below)}, in it {decimal(warm)} with and {decimal(cold)} "
        f"without warm-up, above it {decimal(above)}"
    )
