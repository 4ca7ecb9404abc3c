"""The share that copies against the margin that minimises the loss, a line for each family."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_copy_margin.claims import COPIES, REACHED, at
from experiments.el_copy_margin.run import CE, FAMILIES, MARGINS
from experiments.harness.figures import (
    LOSS_COLOURS,
    Line,
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
from experiments.harness.tables import levels

PANELS = {
    COPIES: "swap test: share that copies",
    REACHED: "mean margin of hard training strings, nats",
}
LINES = [
    *(Line(loss.upper(), at(loss), LOSS_COLOURS[loss]) for loss in ("e1", "e2", "e3")),
    Line("label smoothing", at("label_smoothing"), "#cc79a7"),
    Line("Dice", at("dice"), "#e69f00"),
]


def plot(results: pd.DataFrame) -> Figure:
    """The share that copies, and the margins that training reaches; cross-entropy is dotted."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(9.0, 3.8))
    for ax, metric in zip(axes[0], PANELS, strict=True):
        draw_against(ax, results, metric, LINES, "margin")
        plain = mean_of(results, at(CE), metric)
        ax.axhline(plain, color="black", linestyle=":", label="cross-entropy, mean")
        ticks_at(ax, MARGINS)
        ax.set_xlabel("margin at which the loss is least, nats")
    axes[0, 0].set_ylim(-0.03, 1.03)
    add_titles(axes.ravel(), [*PANELS.values()])
    handles = axes[0, 0].get_legend_handles_labels()[0]
    note = f"dots: a run each; diamonds: mean, {t_note(results, 'data sets')}"
    add_legend(figure, handles, num_columns=6, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The families' mean share at each margin, cross-entropy's, and the number that fit."""
    shares = in_words(
        f"{decimal(_mean_at(results, margin))} at {margin:g} nats" for margin in MARGINS
    )
    return (
        f"Losses that are least at a margin copy {shares},\ncross-entropy "
        f"{stated(results, at(CE), COPIES)}. {count_fitted(results)} runs fit"
    )


def _mean_at(results: pd.DataFrame, margin: float) -> float:
    losses = [f.loss for f in FAMILIES if margin in levels(results, "margin", at(f.loss))]
    return sum(mean_of(results, at(loss, margin), COPIES) for loss in losses) / len(losses)
