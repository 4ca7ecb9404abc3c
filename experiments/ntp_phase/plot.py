"""The share of problems that are compatible, and separable, against d / m."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import (
    THEORY_COLOUR,
    add_legend,
    add_question,
    add_title,
    new_figure,
)
from experiments.harness.statistics import wilson_interval
from experiments.harness.tables import curve_table, read_curves, with_parts

SETTING = r"V=(?P<V>\d+), S=(?P<S>\d+), m=(?P<m>\d+)"
COLOURS = {"compatible": "#0072b2", "separable": "#d55e00"}
LINE_STYLES = ("-", (0, (4, 1.5)), ":", "-.")  # by m, the smallest first


def plot(out: Path) -> Figure:
    """A panel per V and S; a colour per condition, a line style per m."""
    curves = with_parts(read_curves(out / "curves.csv"), SETTING)
    panels = curves.groupby(["V", "S"])
    figure, axes = new_figure(1, len(panels), size=(9.0, 3.6), share_y=True)
    add_question(figure, "How many dimensions does next-token data need to be fitted?")
    for ((V, S), members), ax in zip(panels, axes[0], strict=True):
        _draw(ax, members)
        _draw_theory(ax, V, S)
        add_title(ax, f"V = {V} tokens, S = {S} after each context")
        ax.set_xlabel("embedding dimension / contexts, d / m")
        ax.set_xlim(0, 1.02)
    axes[0, 0].set_ylabel("share of problems, 95 % band")
    add_legend(figure, axes[0, 0].get_legend_handles_labels()[0], num_columns=4)
    return figure


def _draw(ax: Axes, curves: pd.DataFrame) -> None:
    table = curve_table(curves)
    sizes = curves.drop_duplicates("setting").sort_values("m")
    for setting, m, line_style in zip(sizes["setting"], sizes["m"], LINE_STYLES, strict=False):
        for condition, colour in COLOURS.items():
            if (setting, condition) not in table:  # every problem undecided
                continue
            curve = table[setting, condition]
            share = curve.values.mean(axis=0)
            low, high = np.array([wilson_interval(s, len(curve.seeds)) for s in share]).T
            ax.fill_between(curve.steps / m, low, high, color=colour, alpha=0.13, linewidth=0,
                            step="post")  # fmt: skip
            ax.plot(curve.steps / m, share, color=colour, linestyle=line_style,
                    drawstyle="steps-post", label=f"{condition}, m = {m}")  # fmt: skip


def _draw_theory(ax: Axes, V: int, S: int) -> None:
    count, cover = (S - 1) / (V - 1), (V + S - 2) / (2 * (V - 1))
    for place, label, line_style in (
        (count, "counting bound (compatible)", "--"),
        (cover, "Cover's count (separable)", ":"),
    ):
        ax.axvline(place, color=THEORY_COLOUR, linestyle=line_style, linewidth=1.2, label=label)
