"""Intervals and words that figures share, so a figure shows the interval behind the verdicts.

Titles state an answer with its number. They are computed from the table at every drawing.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.stats
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import (
    Curve,
    Group,
    add_question,
    new_figure,
    plot_curve,
    plot_lines_vs,
    plot_median,
    plot_seed_dots,
)
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
    """The mean of a metric over the seeds of a setting; NaN if one has no number, or all."""
    return float(values_of(results, where, metric).mean(skipna=False))


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


def count_fitted(results: pd.DataFrame, metric: str = "train_hard_accuracy") -> str:
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


def is_filled(factors: Where) -> bool:
    """True if the mark of a setting is filled: it has warm-up."""
    return bool(factors.get("warmup_steps"))


class Line(NamedTuple):
    """A setting in a figure: its name, factors and look, the same in every panel and the legend.

    Attributes:
        label: its name.
        where: its factors, which leave one setting, or one for each value on the x axis.
        colour: colour of its dots, means and lines.
        style: matplotlib line style.
        filled: False for hollow means.
    """

    label: str
    where: Where
    colour: str
    style: Any = "-"
    filled: bool = False


def lines_in(
    results: pd.DataFrame,
    wheres: Iterable[Where] = ({},),
    label: Callable[[Where], str] = name_of,
    colour: Callable[[Where], str] = colour_of,
) -> list[Line]:
    """A line for each setting of a table; those of runs with warm-up are filled.

    Args:
        results: the table.
        wheres: the settings from top to bottom; each may stand for several, or none.
        label: maps the factors of a setting to its name.
        colour: maps its factors to its colour.
    """
    return [
        Line(label(cell), exactly(results, cell), colour(cell), filled=is_filled(cell))
        for where in wheres
        for cell in cells(results, where)
    ]


def draw_dots(
    ax: Axes, results: pd.DataFrame, metric: str, lines: Iterable[Line], chance: float | None = None
) -> None:
    """Draw a row for each line that is measured: a dot for each seed, and the mean with its bar.

    Args:
        ax: the axes.
        results: the values.
        metric: the metric to draw.
        lines: the rows from top to bottom.
        chance: accuracy of guessing, drawn as a line; None for no line.
    """
    rows = [(line, values_of(results, line.where, metric).to_numpy()) for line in lines]
    groups = [Group(one.label, seeds, one.colour, one.filled) for one, seeds in rows if seeds.size]
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


def keys(lines: Iterable[Line]) -> list[Line2D]:
    """The legend entries of lines."""
    return [key(line.label, line.colour, style=line.style) for line in lines]


def ticks_at(ax: Axes, values: Iterable[float], *, base: float | None = None) -> None:
    """Put ticks at exactly these values of x, on a logarithmic axis if ``base`` is given."""
    if base:
        ax.set_xscale("log", base=base)
    at = [*values]
    ax.set_xticks(at, [f"{value:g}" for value in at])
    ax.minorticks_off()


def draw_against(
    ax: Axes, results: pd.DataFrame, metric: str, lines: Iterable[Line], x: str
) -> None:
    """Draw a metric against the factor ``x``: seeds, and means with bars, joined by lines."""
    for line in lines:
        found = {
            float(one): values_of(results, {**line.where, x: one}, metric).to_numpy()
            for one in levels(results, x, line.where)
            if is_measured(results, {**line.where, x: one}, metric)
        }
        if found:
            plot_lines_vs(
                ax,
                [*found],
                [*found.values()],
                label=line.label,
                colour=line.colour,
                line_style=line.style,
                filled=line.filled,
                num_sems=t_sems,
                ends=ends_of(metric),
            )


def draw_means(ax: Axes, curves: pd.DataFrame, metric: str, lines: Iterable[Line]) -> None:
    """Draw the course of a metric in every line: its mean over seeds in a t interval."""
    for line, curve in _measured(curves, metric, lines):
        look: dict[str, Any] = {"colour": line.colour, "line_style": line.style}
        look["ends"] = ends_of(metric)
        plot_curve(ax, curve, label=line.label, num_sems=t_sems, **look)


def draw_medians(
    ax: Axes,
    curves: pd.DataFrame,
    metric: str,
    lines: Iterable[Line],
    of: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> None:
    """Draw the course of a metric in every line: its median over seeds, and each of them thin.

    Args:
        ax: the axes, which may be logarithmic.
        curves: the values.
        metric: the metric to draw.
        lines: the settings.
        of: what is drawn of the values, such as ``one_less``.
    """
    for line, (steps, values) in _measured(curves, metric, lines):
        plot_median(ax, Curve(steps, of(values)), colour=line.colour, label=line.label)


def _measured(
    curves: pd.DataFrame, metric: str, lines: Iterable[Line]
) -> Iterator[tuple[Line, Curve]]:
    for line in lines:
        if is_measured(curves, line.where, metric):
            yield line, curve_of(curves, line.where, metric)


def one_less(values: np.ndarray) -> np.ndarray:
    """1 - values: how far cosines are from 1."""
    return 1 - values


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
