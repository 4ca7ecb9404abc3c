"""Entropy and least dimensions against the length of contexts; margin against d / m."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import (
    CONDITION_COLOURS,
    THEORY_COLOUR,
    add_note,
    add_panel_legend,
    add_question,
    add_titles,
    new_figure,
    plot_curves,
)
from experiments.harness.figures import decimal, mean_of, t_note, t_sems
from experiments.harness.statistics import t_interval
from experiments.harness.tables import curve_table, read_curves, read_results, with_parts

ENTROPIES = {  # label, colour, line style of each embedding
    "T=": ("words in order", "#000000", "-"),
    "bag of words, T=": ("bag of words", "#cc79a7", "--"),
}
LENGTH = r"T=(?P<T>\d+)"
TITLES = ("Uncertainty of the next word", "Dimensions needed", "Margin reached")


def plot(out: Path) -> Figure:
    """Three panels; bars and bands are intervals over passages."""
    results = read_results(out / "results.csv")
    figure, axes = new_figure(1, 3, size=(8.4, 3.9))
    add_question(figure, answer(results))
    entropy, dimensions, margins = axes[0]
    _draw_entropy(entropy, results)
    _draw_dimensions(dimensions, results)
    _draw_margins(margins, read_curves(out / "curves.csv"))
    for ax in (entropy, dimensions):
        ax.set_xlabel("context length T, words")
        ax.set_xticks(with_parts(results, LENGTH)["T"].unique())
    for ax in axes[0]:
        add_panel_legend(ax)
    add_titles(axes[0], TITLES)
    passages = t_note(with_parts(results, LENGTH), "passages")
    add_note(figure, f"bars and bands: {passages} of Genesis; m contexts in d dimensions")
    return figure


def answer(results: pd.DataFrame) -> str:
    """The share of Lemma 1's dimensions from which the shortest and longest contexts separate."""
    lengths = sorted(with_parts(results, LENGTH)["T"].unique())
    shown = ", ".join(
        f"{decimal(mean_of(results, f'T={T}', 'separable_from_share'))} m (T = {T})"
        for T in (lengths[0], lengths[-1])
    )
    return f"Text separates from d = {shown}; Lemma 1 asks for d = m"


def _draw_line(
    ax: Axes, results: pd.DataFrame, prefix: str, metric: str, label: str, colour: str, style: str
) -> None:
    """Mean and interval over passages against T, of the settings ``prefix`` T."""
    rows = with_parts(results[results["metric"] == metric], rf"{prefix}(?P<T>\d+)")
    by_length = {T: t_interval(values) for T, values in rows.groupby("T")["value"]}
    means = np.array([interval.mean for interval in by_length.values()])
    halves = [np.nan_to_num(i.sem) * t_sems(i.num_seeds) for i in by_length.values()]
    ax.errorbar(list(by_length), means, yerr=halves, color=colour, linestyle=style,
                marker="o", markersize=4, capsize=3, label=label)  # fmt: skip


def _draw_entropy(ax: Axes, results: pd.DataFrame) -> None:
    for prefix, (label, colour, style) in ENTROPIES.items():
        _draw_line(ax, results, prefix, "entropy", label, colour, style)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("entropy, nats")


def _draw_dimensions(ax: Axes, results: pd.DataFrame) -> None:
    for condition, colour in reversed(CONDITION_COLOURS.items()):
        _draw_line(ax, results, "T=", f"{condition}_from_share", condition, colour, "-")
    ax.axhline(1, color=THEORY_COLOUR, linestyle="--", linewidth=1.2, label="Lemma 1: both hold")
    ax.set_ylim(0, 1.1)
    ax.set_ylabel("least d / m")


def _draw_margins(ax: Axes, frame: pd.DataFrame) -> None:
    curves = curve_table(frame)
    shares = {key: curve._replace(steps=curve.steps / 100) for key, curve in curves.items()}
    settings = sorted(frame["setting"].unique())
    plot_curves(ax, shares, "margin_share", settings, num_sems=t_sems)
    ax.axhline(1, color=THEORY_COLOUR, linestyle="--", linewidth=1.2, label="orthonormal contexts")
    ax.set_xlabel("dimension / contexts, d / m")
    ax.set_ylabel("margin / that if orthonormal")
    ax.set_ylim(0, 1.1)
