"""What runs do in the swap test, by number of strings: a panel of stacked shares a recipe."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from el_jax.probes.stratification import FITTED_ACCURACY
from experiments.el_copy_strings.claims import COPIES, FITTED, SHORTCUT
from experiments.el_copy_strings.run import RECIPES
from experiments.harness.figures import figure_answering
from experiments.harness.tables import Where, is_measured, levels, read_table, select

COPYING = 0.9  # of the swap test, from which a run copies
UNDOING = 0.5  # of it, from which a run that does not copy keeps the shortcut
NAMES = {
    ("cross_entropy", "adamw", 0.999): "cross-entropy, AdamW",
    ("e1", "adamw", 0.999): "E1, AdamW",
    ("cross_entropy", "adamw", 0.95): "cross-entropy,\nAdamW β₂ = .95",
    ("cross_entropy", "muon", None): "cross-entropy, Muon",
    ("e1", "muon", None): "E1, Muon",
}
COLOURS = {
    "copies": "#0072b2",
    "keeps the shortcut": "#e69f00",
    "neither": "#bbbbbb",
    "training strings not fitted": "#ffffff",
}


def plot(out: Path) -> Figure:
    """A panel for each recipe that has been measured; in a pilot of its lowest rate."""
    results = read_table(out / "results.csv")
    recipes = {
        name: where
        for (loss, optimizer, b2), name in NAMES.items()
        if is_measured(
            results, where := {"loss": loss, "optimizer": optimizer, "b2": b2}, COPIES
        )
    }
    figure, axes = figure_answering(
        answer(results, recipes), 1, len(recipes), size=(2.1 * len(recipes), 3.1), share_y=True
    )
    for ax, where in zip(axes[0], recipes.values(), strict=True):
        _draw_shares(ax, results, where)
    axes[0][0].set_ylabel("share of runs")
    add_titles(axes.ravel(), [*recipes])
    ...
    return figure
