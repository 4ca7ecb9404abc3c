"""Learning coefficients and copying by method, and one against the other by network."""

import numpy as np
import pandas as pd
import scipy.stats
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.flat_volume.claims import COPIES, LLC, TIGHT, at, networks_of
from experiments.flat_volume.probe import MATCHED_CE
from experiments.flat_volume.run import METHODS, NETWORKS, SEEDS
from experiments.harness.figures import (
    Line,
    decimal,
    draw_dots,
    figure_answering,
    in_words,
    key,
    stated,
    ticks_at,
)
from experiments.harness.tables import values_of

COLOURS = ("#000000", "#0072b2", "#009e73", "#d55e00")
LINES = [Line(name, at(name), colour) for name, colour in zip(METHODS, COLOURS, strict=True)]


def plot(results: pd.DataFrame) -> Figure:
    """Dots by method for both localisations, and a scatter of networks."""
    figure, ((wide, tight, both, sets),) = figure_answering(answer(results), 1, 4, size=(13.0, 3.8))
    for ax, metric in ((wide, LLC), (tight, TIGHT)):
        draw_dots(ax, results, metric, LINES)
        ax.set_xlabel("learning coefficient")
    tight.set_yticklabels([])
    for line in LINES:
        both.plot(*_pairs(results, line), "o", color=line.colour, markersize=5, alpha=0.8)
    both.set(xlabel="learning coefficient", ylabel="copies in the swap test", ylim=(-0.03, 1.03))
    groups = networks_of(results)
    for rows, marker in zip(groups, "os^D", strict=False):
        sets.plot(np.exp(rows[:, 0]), rows[:, 1], marker, color="#000000", markersize=5)
    sets.set(xlabel="learning coefficient", ylim=(-0.03, 1.03))
    ticks_at(sets, (3, 5, 10, 20, 30), base=10)
    titles = ["chains held loosely", "held tightly", among(results), within(groups)]
    add_titles([wide, tight, both, sets], titles)
    entries = [key(line.label, line.colour, "o") for line in LINES]
    note = (
        f"a dot is a network; logits scaled to equal loss; (a) to (c): {SEEDS} data sets each; "
        "(d): a marker for each data set"
    )
    add_legend(figure, entries, num_columns=4, note=note)
    return figure


def _pairs(results: pd.DataFrame, line: Line) -> list[pd.Series]:
    return [values_of(results, line.where, metric) for metric in (LLC, COPIES)]


def among(results: pd.DataFrame) -> str:
    """The rank correlation of coefficient and copying among the networks of each method."""
    ranks = [decimal(scipy.stats.spearmanr(*_pairs(results, line)).statistic) for line in LINES]
    first, *others = ranks
    return f"rank correlation under {LINES[0].label}\n{first}; E1, Muon, decay {', '.join(others)}"


def within(groups: list[np.ndarray]) -> str:
    """The correlation among networks that share a data set, also beside the logits' scale."""
    if not groups:
        return "several networks on a data set"
    rows = np.concatenate([rows - rows.mean(0) for rows in groups])
    scale = rows[:, 2:]
    left = rows[:, :2] - scale @ np.linalg.lstsq(scale, rows[:, :2])[0]
    r, given = (np.corrcoef(both.T)[0, 1] for both in (rows[:, :2], left))
    return (
        f"{NETWORKS} networks on a data set: correlation\n"
        f"{decimal(r)}; given the logits' scale {decimal(given)}"
    )


def answer(results: pd.DataFrame) -> str:
    """The mean coefficient of each method, and what it copies."""
    shown = in_words(
        f"{name} {stated(results, at(name), LLC, 1)} ({stated(results, at(name), COPIES)})"
        for name in METHODS
    )
    return f"Learning coefficient at {MATCHED_CE:g} nats (share that copies):\n{shown}"
