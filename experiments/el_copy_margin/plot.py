"""The share that copies against the margin that minimises the loss, a line for each family."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_copy_margin.claims import COPIES, FITTED, REACHED, at
from experiments.el_copy_margin.run import CE, FAMILIES, MARGINS
from experiments.harness.figures import (
    count_fitted,
    decimal,
    draw_against,
    figure_answering,
    in_words,
    mean_of,
    stated,
    t_note,
    ticks_at,
)
from experiments.harness.tables import is_measured, levels

PANELS = {
    COPIES: "swap test: share that copies",
    REACHED: "mean margin of hard training strings, nats",
}
LABELS = {"e1": "E1", "e2": "E2", "e3": "E3", "label_smoothing": "label smoothing", "dice": "Dice"}
COLOURS = {"label_smoothing": "#cc79a7", "dice": "#e69f00"}  # the others have their own


def plot(results: pd.DataFrame) -> Figure:
    """The share that copies, and the margins that training reaches; cross-entropy is dotted."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(9.0, 3.8))
    for ax, metric in zip(axes[0], PANELS, strict=True):
        for loss in _measured(results):
            draw_against(
                ax,
                results,
                metric,
                at(loss),
                "margin",
                label=LABELS[loss],
                colour=COLOURS.get(loss),
            )
        plain = mean_of(results, at(CE), metric)
        ax.axhline(plain, color="black", linestyle=":", label="cross-entropy, mean")
        ticks_at(ax, MARGINS)
        ax.set_xlabel("margin at which the loss is least, nats")
    axes[0, 0].set_ylim(-0.03, 1.03)
    add_titles(axes.ravel(), [*PANELS.values()])
    add_legend(
        figure,
        axes[0, 0].get_legend_handles_labels()[0],
        num_columns=6,
        note=f"dots: a run each; diamonds: mean, {t_note(results, 'data sets')}",
    )
    return figure


def _measured(results: pd.DataFrame) -> list[str]:
    return [f.loss for f in FAMILIES if is_measured(results, at(f.loss), COPIES)]


def answer(results: pd.DataFrame) -> str:
    """The families' mean share at each margin, cross-entropy's, and the number that fit."""
    shares = in_words(
        f"{decimal(_mean_at(results, margin))} at {margin:g} nats" for margin in MARGINS
    )
    return (
        f"Losses that are least at a margin copy {shares},\ncross-entropy "
        f"{stated(results, at(CE), COPIES)}. {count_fitted(results, FITTED)} runs fit"
    )


def _mean_at(results: pd.DataFrame, margin: float) -> float:
    losses = [f.loss for f in FAMILIES if margin in levels(results, "margin", at(f.loss))]
    return sum(mean_of(results, at(loss, margin), COPIES) for loss in losses) / len(losses)
