"""The share of problems that are compatible, and separable, against d / m."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import (
    CONDITION_COLOURS,
    THEORY_COLOUR,
    add_legend,
    add_question,
    add_titles,
    new_figure,
)
from experiments.harness.figures import count, decimal
from experiments.harness.statistics import wilson_interval
from experiments.harness.tables import curve_table, read_curves, read_results, with_parts

SETTING = r"V=(?P<V>\d+), S=(?P<S>\d+), m=(?P<m>\d+)"
LINE_STYLES = ("-", (0, (3, 1.2)), (0, (1, 1)))  # by m, the largest first
THEORY = {"counting bound, compatible": "--", "Cover's count, separable": (0, (1, 1))}


def plot(out: Path) -> Figure:
    """A panel per V and S; a colour per condition, a line style per m."""
    curves = with_parts(read_curves(out / "curves.csv"), SETTING)
    results = with_parts(read_results(out / "results.csv"), SETTING)
    sizes = sorted(set(curves["m"]), reverse=True)
    styles = dict(zip(sizes, LINE_STYLES, strict=False))
    panels = curves.groupby(["V", "S"])
    figure, axes = new_figure(1, len(panels), size=(8.4, 3.6), share_y=True)
    add_question(figure, answer(results))
    for ((V, S), members), ax in zip(panels, axes[0], strict=True):
        _draw(ax, members, styles)
        _draw_theory(ax, V, S)
        ax.set_xlabel("dimension / contexts, d / m")
        ax.set_xlim(0, 1.02)
    axes[0, 0].set_ylabel("share of problems")
    add_titles(axes[0], [f"V = {V}, S = {S}" for V, S in panels.groups])
    lines = {f"{c}, m = {m}": (k, styles[m]) for m in styles for c, k in CONDITION_COLOURS.items()}
    lines |= {label: (THEORY_COLOUR, style) for label, style in THEORY.items()}
    handles = [Line2D([], [], color=c, linestyle=s, label=n) for n, (c, s) in lines.items()]
    note = (
        "V tokens, S of them after each of m contexts, which lie in d dimensions\n"
        f"bands: 95 % Wilson interval over {count(curves, 'problems')}, where the share is "
        "neither 0 nor 1"
    )
    add_legend(figure, handles, num_columns=(len(handles) + 1) // 2, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The range over sizes of the mean least dimensions, at the largest number of contexts."""
    m = results["m"].max()
    largest = results[results["m"] == m].groupby(["metric", "setting"])["value"].mean()

    def ends(metric: str) -> str:
        return f"{decimal(largest[metric].min())} to {decimal(largest[metric].max())} m"

    return (
        f"Separable once d is {ends('separable_from')}, compatible once it is "
        f"{ends('compatible_from')} (means, m = {m})"
    )


def _draw(ax: Axes, curves: pd.DataFrame, styles: dict[int, object]) -> None:
    table = curve_table(curves)
    sizes = curves.drop_duplicates("setting").set_index("m")["setting"]
    for m, line_style in styles.items():
        for condition, colour in CONDITION_COLOURS.items():
            if (sizes.get(m), condition) not in table:  # every problem undecided
                continue
            curve = table[sizes[m], condition]
            share = curve.values.mean(axis=0)
            low, high = np.array([wilson_interval(s, len(curve.seeds)) for s in share]).T
            within = (share > 0) & (share < 1)
            ax.fill_between(
                curve.steps / m, np.where(within, low, share), np.where(within, high, share),
                color=colour, alpha=0.2, linewidth=0, step="post",
            )  # fmt: skip
            ax.plot(curve.steps / m, share, color=colour, linestyle=line_style,
                    drawstyle="steps-post", label=f"{condition}, m = {m}")  # fmt: skip


def _draw_theory(ax: Axes, V: int, S: int) -> None:
    places = (S - 1) / (V - 1), (V + S - 2) / (2 * (V - 1))
    for place, (label, line_style) in zip(places, THEORY.items(), strict=True):
        ax.axvline(
            place, color=THEORY_COLOUR, linestyle=line_style, linewidth=1.0, label=label, zorder=1
        )
