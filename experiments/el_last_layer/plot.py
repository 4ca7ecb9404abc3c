"""Answers of four last layers on the features of each method's networks."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from el_jax.probes.stratification import FITTED_ACCURACY
from experiments.el_last_layer.claims import FITTED, at
from experiments.el_last_layer.run import COPIES, DECODERS, HARD, LOW, METHODS, UNTRAINED
from experiments.harness.figures import (
    decimal,
    figure_answering,
    key,
    mean_of,
    t_note,
    t_sems,
)
from experiments.harness.tables import is_measured, values_of

PANELS = {HARD: "unseen hard strings: share that is right", COPIES: "swap test: share that copies"}
LABELS = dict(
    zip(DECODERS, ("its own", "max margin", "least squares", "fresh hard strings"), strict=True)
)
COLOURS = dict(zip(DECODERS, ("#000000", "#0072b2", "#e69f00", "#009e73"), strict=True))
APART = 0.17  # rows, between decoders


def plot(results: pd.DataFrame) -> Figure:
    """Two panels with a row for each method; in it, a dot and interval for each decoder."""
    rows = [name for name in METHODS if is_measured(results, at(name), f"own_{HARD}")]
    figure, axes = figure_answering(answer(results), 1, 2, size=(9.6, 1.6 + 0.42 * len(rows)))
    for ax, asked in zip(axes[0], PANELS, strict=True):
        for i, decoder in enumerate(DECODERS):
            for row, name in enumerate(rows):
                values = values_of(results, at(name), f"{decoder}_{asked}").dropna()
                mean = values.mean()
                half = t_sems(len(values)) * values.sem() if len(values) > 1 else 0.0
                ends = [[mean - max(mean - half, 0.0)], [min(mean + half, 1.0) - mean]]
                y, colour = row + (i - 1.5) * APART, COLOURS[decoder]
                ax.errorbar(mean, y, xerr=ends, fmt="o", ms=4, color=colour)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_xlim(-0.03, 1.03)
        ax.set_yticks(range(len(rows)), rows if ax is axes[0, 0] else [""] * len(rows))
    add_titles(axes.ravel(), [*PANELS.values()])
    add_legend(
        figure,
        [key(LABELS[decoder], COLOURS[decoder], "o") for decoder in DECODERS],
        num_columns=4,
        note=f"the last layer is, or is fitted on, ...; {t_note(results, 'data sets')}",
    )
    return figure


def answer(results: pd.DataFrame) -> str:
    """Accuracy on hard strings of the own layer and a fresh one, and how many runs fit."""

    def shown(name: str) -> str:
        own, fresh = (mean_of(results, at(name), f"{of}_{HARD}") for of in ("own", "fresh"))
        return (
            f"{name.replace(', low rate', ' at the low rate')} {decimal(own)} and {decimal(fresh)}"
        )

    trained = results[(results["metric"] == FITTED) & (results["method"] != UNTRAINED)]
    name = LOW if is_measured(results, at(LOW), FITTED) else "cross-entropy"
    fitted = trained["value"] >= FITTED_ACCURACY
    return (
        f"Unseen hard strings right by the own last layer and by a fresh one:\n{shown(name)}, "
        f"{shown(UNTRAINED)}. {fitted.sum()} of {len(fitted)} trained runs fit"
    )
