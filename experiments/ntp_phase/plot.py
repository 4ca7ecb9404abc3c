"""The share of problems that are compatible, and separable, against d / m."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import DASHED, SOLID, THEORY_COLOUR, add_legend, add_titles
from experiments.harness.figures import count, curve_of, decimal, figure_answering, mean_of
from experiments.harness.statistics import wilson_interval
from experiments.harness.tables import cells, levels
from experiments.ntp_phase.run import SIZES, Ensemble

COLOURS = {"compatible": "#0072b2", "separable": "#e69f00"}
DOTTED: Any = (0, (1, 1))
LINE_STYLES = (SOLID, (0, (3, 1.2)), DOTTED)  # by m, the largest first


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """A panel per V and S; a colour per condition, a line style per m."""
    styles = dict(zip(reversed(levels(curves, "num_contexts")), LINE_STYLES, strict=False))
    figure, axes = figure_answering(answer(results), 1, len(SIZES), size=(8.4, 3.6), share_y=True)
    for (V, S), ax in zip(SIZES, axes[0], strict=True):
        for m, style in styles.items():
            _draw(ax, curves, Ensemble(m, V, S), style)
        _draw_theory(ax, V, S)
        ax.set(xlabel="dimension / contexts, d / m", xlim=(0, 1.02))
    axes[0, 0].set_ylabel("share of problems")
    add_titles(axes[0], [f"V = {V}, S = {S}" for V, S in SIZES])
    note = (
        "V tokens, S of them after each of m contexts, which lie in d dimensions\n"
        f"bands: 95 % Wilson interval over {count(curves, 'problems')}, where the share is "
        "neither 0 nor 1"
    )
    handles = [line for line in axes[0, 0].lines if not line.get_label().startswith("_")]
    add_legend(figure, handles, num_columns=(len(handles) + 1) // 2, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The range over sizes of the mean least dimensions, at the largest number of contexts."""
    m = levels(results, "num_contexts")[-1]

    def ends(metric: str) -> str:
        means = [mean_of(results, vars(Ensemble(m, V, S)), metric) for V, S in SIZES]
        return f"{decimal(min(means))} to {decimal(max(means))} m"

    return (
        f"Separable once d is {ends('separable_from')}, compatible once it is "
        f"{ends('compatible_from')} (means, m = {m:g})"
    )


def _draw(ax: Axes, curves: pd.DataFrame, size: Ensemble, style: Any) -> None:
    m = size.num_contexts
    for condition, colour in COLOURS.items():
        if not cells(curves, vars(size), condition):  # every problem undecided
            continue
        curve = curve_of(curves, vars(size), condition)
        places, share = curve.steps / m, curve.values.mean(axis=0)
        band = np.array([wilson_interval(s, len(curve.values)) for s in share]).T
        low, high = np.where((share > 0) & (share < 1), band, share)
        ax.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0, step="post")
        label = f"{condition}, m = {m:g}"
        ax.step(places, share, where="post", color=colour, linestyle=style, label=label)


def _draw_theory(ax: Axes, V: int, S: int) -> None:
    counting, cover = (S - 1) / (V - 1), (V + S - 2) / (2 * (V - 1))
    for place, style, label in (
        (counting, DASHED, "counting bound, compatible"),
        (cover, DOTTED, "Cover's count, separable"),
    ):
        line = ax.axvline(place, color=THEORY_COLOUR, linewidth=1.0, label=label, zorder=1)
        line.set_linestyle(style)
