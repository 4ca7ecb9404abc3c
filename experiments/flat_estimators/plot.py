"""Coverage of the stated intervals, and errors at equal cost at both stages."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import THEORY_COLOUR, add_legend, add_titles
from experiments.flat_estimators.claims import STAGES, derived
from experiments.flat_estimators.estimators import ESTIMATORS
from experiments.harness.figures import decimal, figure_answering, key, mean_of, t_note, t_sems
from experiments.harness.tables import by_cell, select, values_of

COLOURS = {"start": "#e69f00", "saturated": "#0072b2"}
ASIDE = {"start": -0.14, "saturated": 0.14}  # bars of one estimator stay apart
ALLOWED = (0.93, 0.97)
TITLES = ("Coverage of stated 95 % intervals", "Error / exact value, at equal cost")


def plot(results: pd.DataFrame) -> Figure:
    """Left: shares of trials whose interval contains the exact value. Right: errors."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(8.6, 5.2), share_y=True)
    for ax, metric in zip(axes[0], ("coverage", "log_error"), strict=True):
        _draw(ax, results, metric)
    axes[0, 0].axvspan(*ALLOWED, color=THEORY_COLOUR, alpha=0.12, linewidth=0)
    axes[0, 0].set_xlabel("share of trials")
    axes[0, 1].set_xscale("log")
    axes[0, 1].set_xlabel("root mean square, at the price of Hutchinson")
    axes[0, 0].set_yticks(range(len(ESTIMATORS)), [*ESTIMATORS])
    axes[0, 0].invert_yaxis()
    add_titles(axes.ravel(), TITLES)
    note = (
        f"bars: {t_note(select(results, {'estimator': None}), 'networks')}\n"
        "examples and Fisher: contexts drawn from the world; the others take all of them"
    )
    add_legend(figure, _handles(), num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The range of coverages, and the lead of the control variate at both stages."""
    means = [values.mean() for values in by_cell(derived(results), {"stage": None}, "coverage")]
    start, saturated = (lead(results, stage) for stage in STAGES)
    return (
        f"Stated 95 % intervals hold the exact trace in {decimal(min(means), 3)} to "
        f"{decimal(max(means), 3)} of trials.\nAt equal cost plain probes err {saturated:.0f} "
        f"times the control variate near saturation, {start:.1f} at the start"
    )


def lead(results: pd.DataFrame, stage: str) -> float:
    """The error of plain probes over the control variate's at equal cost."""
    plain, controlled = (
        mean_of(results, {"estimator": name, "stage": stage}, "log_error")
        for name in ("Hutchinson", "controlled")
    )
    return float(np.exp(plain - controlled))


def _draw(ax: Axes, results: pd.DataFrame, metric: str) -> None:
    """Means with intervals over networks; for errors the geometric mean, as on a log scale."""
    shown = np.exp if metric == "log_error" else np.asarray
    for stage in STAGES:
        for place, name in enumerate(ESTIMATORS):
            values = values_of(results, {"estimator": name, "stage": stage}, metric)
            half = t_sems(len(values)) * values.sem()
            low, mean, high = shown(values.mean() + half * np.array([-1.0, 0.0, 1.0]))
            ax.errorbar(
                mean,
                place + ASIDE[stage],
                xerr=[[mean - low], [high - mean]],
                fmt="o",
                color=COLOURS[stage],
                markersize=4,
                elinewidth=1,
            )


def _handles() -> list[Line2D]:
    words = {"start": "at the start of training", "saturated": "near saturation"}
    stages = [key(words[stage], colour, "o") for stage, colour in COLOURS.items()]
    allowed = Line2D([], [], color=THEORY_COLOUR, alpha=0.3, linewidth=6, label=".93 to .97")
    return [*stages, allowed]
