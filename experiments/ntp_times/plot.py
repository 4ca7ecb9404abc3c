"""Times to learn contexts by their probability, and their final margins."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.harness.figures import (
    count,
    figure_answering,
    in_words,
    key,
    stated,
)
from experiments.harness.tables import Where, select
from experiments.ntp_times.claims import SPREAD, TIMES, at
from experiments.ntp_times.run import ENDS, LOSSES, OPTIMIZERS

COLOURS = dict(zip(OPTIMIZERS, ("#000000", "#009e73", "#d55e00", "#0072b2"), strict=True))
LOSS_STYLES = dict(zip(LOSSES, ("-", "--", ":"), strict=True))
LOSS_NAMES = {"cross_entropy": "cross-entropy", "e1": "E1", "e2": "E2"}


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """A panel of times for each kind of data, and one of margins under gradient descent."""
    title = answer(results)
    figure, axes = figure_answering(title, 1, 3, size=(10.6, 4.0))
    for ax, data in zip(axes[0], ENDS, strict=False):
        lines = {name: at(name, data=data) for name in OPTIMIZERS}
        _draw(ax, curves, "time", lines, COLOURS, dict.fromkeys(OPTIMIZERS, "-"))
        ax.set(yscale="log")
    lines = {name: at("gradient descent", name) for name in LOSSES}
    _draw(axes[0, 2], curves, "margin", lines, dict.fromkeys(LOSSES, "#000000"), LOSS_STYLES)
    axes[0, 2].set(ylim=(0, None))
    titles = ["own tokens, one-hot contexts:\ntime to learn over the median"]
    titles += ["shared tokens, random contexts:\ntime to learn over the median"]
    add_titles(axes.ravel(), [*titles, "the same, gradient descent:\nlast margin, nats"])
    entries = [key(name, colour) for name, colour in COLOURS.items()]
    entries += [key(LOSS_NAMES[n], "#000000", style=style) for n, style in LOSS_STYLES.items()]
    problems = count(select(curves, at("gradient descent")), "problems")
    note = f"times under cross-entropy; shared tokens: median and quartiles of {problems}"
    add_legend(figure, entries, num_columns=7, note=note)
    return figure


def _draw(
    ax: Axes,
    curves: pd.DataFrame,
    metric: str,
    lines: Mapping[str, Where],
    colours: Mapping[str, str],
    styles: Mapping[str, str],
) -> None:
    """Median over problems with its quartiles, by rank of the context."""
    for name, where in lines.items():
        by_rank = select(curves, where, metric).groupby("step")["value"]
        low, middle, high = (by_rank.quantile(q) for q in (0.25, 0.5, 0.75))
        ranks = np.array(middle.index)
        ax.plot(ranks, middle, styles[name], color=colours[name])
        ax.fill_between(ranks, low, high, color=colours[name], alpha=0.15, linewidth=0)
    ax.set(xscale="log", xlabel="rank j of the context, probability ~ 1 / j")


def answer(results: pd.DataFrame) -> str:
    """Exponents of times under two optimizers, and the spread of final margins by loss."""

    def exponents(data: str) -> str:
        return in_words(
            f"{stated(results, at(name, data=data), TIMES)} ({name})"
            for name in ("gradient descent", "spectral descent")
        )

    names = in_words(LOSS_NAMES.values())
    spreads = in_words(stated(results, at("gradient descent", loss), SPREAD) for loss in LOSSES)
    return (
        f"Time to learn ~ π^-b: with own tokens b = {exponents(ENDS[0])},\n"
        f"with shared ones {exponents(ENDS[1])}.\n"
        f"Last margins spread {spreads} ({names})"
    )
