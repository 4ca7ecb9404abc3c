"""Changes of KL, probes and traces against the strength of the adversary."""

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import THEORY_COLOUR, add_legend, add_question, add_titles, new_figure
from experiments.flat_adversarial.settings import (
    ACCURACIES,
    ATTACKED,
    CHOSEN,
    KL,
    LOOKUP,
    TRACES,
    WEIGHTS,
    WORLDS,
    named,
)
from experiments.harness.figures import decimal, mean_of, t_note, t_sems
from experiments.harness.tables import read_results, settings_with, values_of

PANELS = {
    (KL,): "change of KL, nats",
    ACCURACIES: "change of the probe, points",
    tuple(TRACES): "trace over that of λ = 0",
}
STYLES: tuple[tuple[str, Any, str], ...] = (
    ("#0072b2", "-", "attacked label; Fisher trace"),
    ("#d55e00", "--", "other label; scale-free trace"),
)
TRUE = "attacked label, true conditionals in place of the network"


def plot(out: Path) -> Figure:
    """A row for each world."""
    results = read_results(out / "results.csv")
    figure, axes = new_figure(len(WORLDS), len(PANELS), size=(9.6, 6.2), share_x=True)
    add_question(figure, answer(results))
    for row, world in zip(axes, WORLDS, strict=True):
        for ax, metrics in zip(row, PANELS, strict=True):
            _draw(ax, results, world, metrics)
        base = named(world, 0)
        lookup = mean_of(results, base, f"{ATTACKED}_{LOOKUP}") - mean_of(results, base, ATTACKED)
        row[1].axhline(100 * lookup, color=THEORY_COLOUR, linestyle=":", linewidth=1.2)
    for ax in axes[-1]:
        ax.set_xlabel("strength λ of the adversary, nats")
    names = [f"{world}: {words}" for world in WORLDS.values() for words in PANELS.values()]
    add_titles(axes.ravel(), names)
    handles = [Line2D([], [], color=c, linestyle=s, label=label) for c, s, label in STYLES]
    handles.append(Line2D([], [], color=THEORY_COLOUR, linestyle=":", label=TRUE))
    note = f"against λ = 0 of the same seed, which draws world, data and network; {t_note(results)}"
    add_legend(figure, handles, num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """KL, accuracy and trace of the ordinary and the adversarial model in every world."""
    shown = []
    for world, name in WORLDS.items():
        ends = named(world, 0), named(world, CHOSEN[world])
        kl, right, trace = (
            [mean_of(results, setting, metric) for setting in ends]
            for metric in (KL, ATTACKED, "fisher_trace")
        )
        shown.append(
            f"{name}, λ = {CHOSEN[world]:g}: KL {decimal(kl[0], 3)} to {decimal(kl[1], 3)}, "
            f"probe {decimal(right[0])} to {decimal(right[1])}, "
            f"trace × {decimal(trace[1] / trace[0])}"
        )
    return "Training against a downstream label\n" + "\n".join(shown)


def changed(results: pd.DataFrame, world: str, weight: float, metric: str) -> pd.Series:
    """The change that a strength makes, seed by seed: of an accuracy in points, of a trace × ."""
    before, after = (values_of(results, named(world, w), metric) for w in (0.0, weight))
    if metric in TRACES:
        return after / before
    return (after - before) * (100 if metric in ACCURACIES else 1)


def _draw(ax: Axes, results: pd.DataFrame, world: str, metrics: tuple[str, ...]) -> None:
    known = settings_with(results, KL)
    weights = [weight for weight in WEIGHTS if named(world, weight) in known]
    for metric, (colour, style, _) in zip(metrics, STYLES, strict=False):
        columns = [changed(results, world, weight, metric) for weight in weights]
        bars = [t_sems(len(c)) * c.sem() if len(c) > 1 else 0.0 for c in columns]
        ax.errorbar(
            range(len(weights)), [c.mean() for c in columns], yerr=bars, color=colour,
            linestyle=style, marker="D", markersize=5, capsize=3, zorder=3,
        )  # fmt: skip
        for place, column in enumerate(columns):
            ax.plot([place + 0.1] * len(column), column, "o", color=colour, alpha=0.4, markersize=3)
    ax.axhline(1.0 if metrics == tuple(TRACES) else 0.0, color="0.6", linewidth=0.8, zorder=1)
    ax.set_xticks(range(len(weights)), [f"{weight:g}" for weight in weights])
