"""Divergence along the river and on the hill over training, by schedule and model."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.flat_river.claims import at
from experiments.flat_river.run import HILL, RIVER
from experiments.harness.figures import (
    Line,
    decimal,
    draw_means,
    figure_answering,
    keys,
    mean_of,
    stated,
    t_note,
)
from experiments.harness.tables import is_measured, levels

PANELS = {"kl_river": "river: certain next words", "kl_hill": "hill: uncertain next words"}
COLOURS = {
    "WSD": "#0072b2",
    "WSD-S": "#cc79a7",
    "constant": "#000000",
    "low": "#e69f00",
    "cosine": "#009e73",
}
MODELS = {"table": "Table", "transformer": "Transformer"}
LABELS = {"low": "constant, a tenth of the rate"}


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """A row of panels for each model."""
    models = [str(model) for model in levels(results, "model")]
    size = (8.6, 1.6 + 2.5 * len(models))
    figure, axes = figure_answering(answer(results), len(models), 2, size=size)
    for row, model in zip(axes, models, strict=True):
        for ax, metric in zip(row, PANELS, strict=True):
            lines = [Line(LABELS.get(n, n), at(model, n), colour) for n, colour in COLOURS.items()]
            draw_means(ax, curves, metric, lines)
            ax.set(yscale="log", xlabel="updates")
        row[0].set_ylabel("KL from the truth, nats")
    titles = [f"{model}, {panel}" for model in models for panel in PANELS.values()]
    add_titles(axes.ravel(), titles)
    add_legend(figure, keys(lines), num_columns=5, note=f"means, bands: {t_note(results)}")
    return figure


def answer(results: pd.DataFrame) -> str:
    """The decay's effect on the hill, and the river left by a low learning rate, by model."""
    measured = [model for model in MODELS if is_measured(results, at(model, "WSD"), HILL)]
    return "\n".join(_answer_of(results, model, MODELS[model]) for model in measured)


def _answer_of(results: pd.DataFrame, model: str, name: str) -> str:
    drop = stated(results, at(model, "WSD"), "decay_lowers_hill", 1)
    text = f"{name}: WSD's decay divides the hill by {drop}"
    if not is_measured(results, at(model, "low"), RIVER):
        return text
    river = mean_of(results, at(model, "low"), RIVER) - mean_of(results, at(model, "WSD"), RIVER)
    return f"{text}, a tenth of the rate multiplies the river by {decimal(10**river, 1)}"
