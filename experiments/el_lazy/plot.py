"""The share that copies, and the drift of the tangent kernel, against the output scale."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_lazy.claims import CE, COPIES, DRIFT, LOSSES, at
from experiments.el_lazy.run import SWAPPED
from experiments.harness.figures import (
    Line,
    colour_of,
    count_fitted,
    draw_against,
    figure_answering,
    in_words,
    mean_of,
    stated,
    t_note,
    ticks_at,
)
from experiments.harness.tables import is_measured, levels

EXCHANGED = "cross-entropy, rates of α = 1 and 16 exchanged, mean"
LINES = [Line(name, {"loss": loss}, colour_of({"loss": loss})) for loss, name in LOSSES.items()]
PANELS = {COPIES: "swap test: share that copies", DRIFT: "drift of the tangent kernel"}


def plot(results: pd.DataFrame) -> Figure:
    """One panel for each, with a line for each loss."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(8.6, 3.9))
    along = results[results["rate_of"] == results["alpha"]].drop(columns="rate_of")
    for ax, metric in zip(axes[0], PANELS, strict=True):
        draw_against(ax, along, metric, LINES, "alpha")
        for alpha, rate_of in SWAPPED:
            mean = mean_of(results, at(CE, alpha, rate_of), metric)
            ax.plot(alpha, mean, "s", color="#cc79a7", ms=8, label=EXCHANGED)
        ticks_at(ax, levels(results, "alpha"), base=2)
        ax.set_xlabel("scale of the outputs, α: rich to lazy")
        ax.set_ylim(-0.03, 1.03)
    add_titles(axes.ravel(), [*PANELS.values()])
    handles, labels = axes[0, 0].get_legend_handles_labels()
    handles = [*dict(zip(labels, handles, strict=True)).values()]  # each label once
    note = f"dots: a run each; diamonds: mean, {t_note(results, 'data sets')}"
    add_legend(figure, handles, num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The share that each loss copies at each scale, and how many runs fit."""

    def shares(loss: str) -> str:
        return in_words(
            stated(results, at(loss, alpha), COPIES)
            for alpha in levels(results, "alpha", {"loss": loss})
        )

    shown = "; ".join(
        f"{label} {shares(loss)}"
        for loss, label in LOSSES.items()
        if is_measured(results, {"loss": loss}, COPIES)
    )
    alphas = in_words(f"{alpha:g}" for alpha in levels(results, "alpha"))
    return (
        f"Share copied at α = {alphas}:\n{shown}.\n{_exchanged(results)}"
        f"{count_fitted(results)} runs fit"
    )


def _exchanged(results: pd.DataFrame) -> str:
    if any(not is_measured(results, at(CE, *swapped), COPIES) for swapped in SWAPPED):
        return ""
    shares = in_words(stated(results, at(CE, *swapped), COPIES) for swapped in SWAPPED)
    return f"Rates of α = 1 and 16 exchanged: cross-entropy {shares}. "
