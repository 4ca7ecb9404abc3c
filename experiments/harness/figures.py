"""Intervals and words that figures share, so a figure shows the interval behind the verdicts.

Titles state an answer with its number. They are computed from the table at every drawing.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import Curve, Group, add_question, new_figure, plot_lines_vs, plot_seed_dots
from el_jax.probes.stratification import FITTED_ACCURACY
from experiments.harness.names import ends_of, name_of
from experiments.harness.statistics import CONFIDENCE, describe_seeds
from experiments.harness.tables import (
    Where,
    cells,
    exactly,
    factors_of,
    is_measured,
    levels,
    select,
    values_of,
)

GLOSSARY = (
    "H: entropy, W: decoder, $W_{mm}$: max-margin decoder, $W^*$: finite part, "
    "$P_F$, $P_\\perp$: in and across the data subspace"
)


def figure_answering(
    answer: str, num_rows: int = 1, num_columns: int = 1, **layout: Any
) -> tuple[Figure, np.ndarray]:
    """An empty figure with the answer as its title; see ``el_jax.plots.new_figure``."""
    figure, axes = new_figure(num_rows, num_columns, **layout)
    add_question(figure, answer)
    return figure, axes


def t_sems(num_seeds: int) -> float:
    """Half length of the 95 % Student-t interval of a mean over seeds, in standard errors."""
    if num_seeds < 2:
        return 0.0
    return float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, num_seeds - 1))


def t_note(frame: pd.DataFrame, noun: str = "seeds") -> str:
    """The caption for bars of ``t_sems``, such as ``95 % t interval over 10 seeds``."""
    return f"{CONFIDENCE:.0%} t interval over {count(frame, noun)}".replace("%", " %")


def count(frame: pd.DataFrame, noun: str = "seeds") -> str:
    """The number of seeds of the settings of a table, such as ``10 seeds`` or ``5–10 seeds``.

    Args:
        frame: results or curves of the settings drawn.
        noun: a plural noun for seeds, such as ``problems``.
    """
    factors = factors_of(frame)
    numbers = (
        frame.groupby(factors, dropna=False)["seed"].nunique()
        if factors
        else [frame["seed"].nunique()]
    )
    return describe_seeds(list(numbers)).replace("seeds", noun).replace("seed", noun[:-1])


def mean_of(results: pd.DataFrame, where: Where, metric: str) -> float:
    """The mean of a metric over the seeds of a setting; NaN if not measured."""
    return float(values_of(results, where, metric).mean())


def decimal(value: float, digits: int = 2, *, signed: bool = False) -> str:
    """A number in the format of the READMEs, without a leading 0: ``.48``, ``−.05``, ``1.00``."""
    value = round(value, digits) + 0.0  # no sign before zero
    sign = "+" if signed and value >= 0 else ""
    text = re.sub(r"^(-?)0\.", r"\1.", f"{value:.{digits}f}")
    return sign + text.replace("-", "−")


def stated(
    results: pd.DataFrame, where: Where, metric: str, digits: int = 2, *, signed: bool = False
) -> str:
    """The mean of a metric over the seeds of a setting, as titles state it: ``.48``."""
    return decimal(mean_of(results, where, metric), digits, signed=signed)


def count_fitted(results: pd.DataFrame, metric: str) -> str:
    """The number of runs that fit, such as ``118 of 120``, by their accuracy in training."""
    fitted = select(results, {}, metric)["value"] >= FITTED_ACCURACY
    return f"{fitted.sum()} of {len(fitted)}"


def in_words(parts: Iterable[str]) -> str:
    """``a``, ``a and b`` or ``a, b and c``."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


# ── from factors to marks ────────────────────────────────────────────────────────────────────────

LOSS_COLOURS = {
    "cross_entropy": "#000000",
    "e1": "#0072b2",
    "e2": "#d55e00",
    "e3": "#009e73",
}


def colour_of(factors: Where) -> str:
    """The colour of a setting's loss, the same in every figure; grey for other losses."""
    return LOSS_COLOURS.get(factors.get("loss", "cross_entropy"), "#8c8c8c")


def draw_dots(
    ax: Axes,
    results: pd.DataFrame,
    metric: str,
    settings: Iterable[Where],
    *,
    label: Callable[[Where], str] = name_of,
    colour: Callable[[Where], str] = colour_of,
    chance: float | None = None,
) -> None:
    """Draw a row of dots for each setting, one per seed; means of runs with warm-up are filled.

    Args:
        ax: the axes.
        results: the values.
        metric: the metric to draw.
        settings: the rows from top to bottom; each may stand for several settings.
        label: maps the factors of a setting to its name.
        colour: maps its factors to its colour.
        chance: accuracy of guessing, drawn as a line; None for no line.
    """
    groups = [
        Group(
            label(cell),
            values_of(results, exactly(results, cell), metric).to_numpy(),
            colour(cell),
            filled=is_filled(cell),
        )
        for where in settings
        for cell in cells(results, where, metric)
    ]
    plot_seed_dots(ax, groups, chance=chance, num_sems=t_sems, ends=ends_of(metric))


def key(label: str, colour: str, marker: str = "", style: Any = None, face: str = "") -> Line2D:
    """A legend entry: a line, or a marker filled with its own colour or ``face``."""
    return Line2D(
        [],
        [],
        label=label,
        color=colour,
        marker=marker,
        linestyle=style or ("" if marker else "-"),
        markerfacecolor=face or colour,
    )


def ticks_at(ax: Axes, values: Iterable[float], *, base: float | None = None) -> None:
    """Put ticks at exactly these values of x, on a logarithmic axis if ``base`` is given."""
    if base:
        ax.set_xscale("log", base=base)
    at = [*values]
    ax.set_xticks(at, [f"{value:g}" for value in at])
    ax.minorticks_off()


def is_filled(factors: Where) -> bool:
    """True if the mark of a setting is filled: it has warm-up."""
    return bool(factors.get("warmup_steps"))


def draw_against(
    ax: Axes,
    results: pd.DataFrame,
    metric: str,
    where: Where,
    x: str,
    *,
    label: str,
    colour: str | None = None,
    line_style: Any = "-",
    filled: bool | None = None,
) -> None:
    """Draw a metric against a factor: seeds, and means with bars, joined by a line.

    Args:
        ax: the axes.
        results: the values.
        metric: the metric to draw.
        where: the settings, which differ in nothing but ``x``.
        x: the factor, a number.
        label: legend text.
        colour: colour of the line; by default that of its loss.
        line_style: matplotlib line style.
        filled: False for hollow means; by default those of runs with warm-up are filled.
    """
    at = [
        one for one in levels(results, x, where) if is_measured(results, {**where, x: one}, metric)
    ]
    values = [values_of(results, {**where, x: one}, metric).to_numpy() for one in at]
    plot_lines_vs(
        ax,
        [float(one) for one in at],
        values,
        label=label,
        colour=colour or colour_of(where),
        line_style=line_style,
        filled=is_filled(where) if filled is None else filled,
        num_sems=t_sems,
        ends=ends_of(metric),
    )


def curve_of(curves: pd.DataFrame, where: Where, metric: str) -> Curve:
    """The curve of a metric in one setting.

    Raises:
        ValueError: ``where`` is not one setting, or its seeds were measured at different steps.
    """
    rows = select(curves, where, metric)
    wide = rows.pivot(index="seed", columns="step", values="value")
    if rows.empty or wide.size != len(rows):
        raise ValueError(f"{metric} where {dict(where)}: seeds have different steps, or none.")
    return Curve(wide.columns.to_numpy(), wide.to_numpy())
