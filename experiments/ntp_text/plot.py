"""Entropy and least dimensions against the length of contexts; margin against d / m."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import (
    THEORY_COLOUR,
    CurveTable,
    add_question,
    add_title,
    look_up,
    mean_and_sem,
    new_figure,
)
from experiments.harness.tables import curve_table, read_curves, read_results, with_parts

ENTROPIES = {  # label, colour, line style of each embedding
    "T=": ("all order kept", "#000000", "-"),
    "bag of words, T=": ("bag of words", "#cc79a7", "--"),
}
CONDITIONS = {
    "separable_from_share": ("separable", "#d55e00"),
    "compatible_from_share": ("compatible", "#0072b2"),
}
LENGTH_COLOURS = ("#56b4e9", "#e69f00", "#7a5195", "#8c8c8c", "#cc79a7")


def plot(out: Path) -> Figure:
    """Three panels; bars and bands are 2 standard errors over passages."""
    results = read_results(out / "results.csv")
    curves = curve_table(read_curves(out / "curves.csv"))
    figure, axes = new_figure(1, 3, size=(9.4, 3.3))
    add_question(figure, "What do the conditions ask of real text?")
    _draw_entropy(axes[0, 0], results)
    _draw_dimensions(axes[0, 1], results)
    _draw_margins(axes[0, 2], curves)
    for ax in axes[0]:
        ax.legend(frameon=False, fontsize=8)
    for ax in axes[0, :2]:
        ax.set_xlabel("context length T, words")
        ax.set_xticks(with_parts(results, r"T=(?P<T>\d+)")["T"].unique())
    return figure


def _draw_line(
    ax: Axes, results: pd.DataFrame, prefix: str, metric: str, label: str, colour: str, style: str
) -> None:
    """Mean and standard error over passages against T, of the settings ``prefix`` T."""
    rows = with_parts(results[results["metric"] == metric], rf"{prefix}(?P<T>\d+)")
    by_length = {T: mean_and_sem(values.to_numpy()) for T, values in rows.groupby("T")["value"]}
    means, sems = np.array(list(by_length.values())).T
    ax.errorbar(list(by_length), means, yerr=2 * np.nan_to_num(sems), color=colour, linestyle=style,
                marker="o", markersize=4, capsize=3, label=label)  # fmt: skip


def _draw_entropy(ax: Axes, results: pd.DataFrame) -> None:
    add_title(ax, "Entropy of the next word, nats")
    for prefix, (label, colour, style) in ENTROPIES.items():
        _draw_line(ax, results, prefix, "entropy", label, colour, style)
    ax.set_ylim(bottom=0)


def _draw_dimensions(ax: Axes, results: pd.DataFrame) -> None:
    add_title(ax, "Least dimension / contexts, d / m")
    for metric, (label, colour) in CONDITIONS.items():
        _draw_line(ax, results, "T=", metric, label, colour, "-")
    ax.axhline(
        1, color=THEORY_COLOUR, linestyle="--", linewidth=1.2, label="Lemma 1: both at d = m"
    )
    ax.set_ylim(0, 1.1)


def _draw_margins(ax: Axes, curves: CurveTable) -> None:
    add_title(ax, "Max margin / that of orthonormal contexts")
    settings = sorted(setting for setting, _ in curves)
    for setting, colour in zip(settings, LENGTH_COLOURS, strict=False):
        curve = look_up(curves, setting, "margin_share")
        mean, sem = mean_and_sem(curve.values)
        ratio, half = curve.steps / 100, 2 * np.nan_to_num(sem)
        ax.fill_between(ratio, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)
        ax.plot(ratio, mean, color=colour, marker="o", markersize=4, label=setting)
    ax.axhline(1, color=THEORY_COLOUR, linestyle="--", linewidth=1.2)
    ax.set_xlabel("embedding dimension / contexts, d / m")
    ax.set_ylim(0, 1.1)
