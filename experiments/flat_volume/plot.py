"""Learning coefficients and copying by method, and one against the other by network."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.flat_volume.claims import COPIES, LLC, TIGHT, at
from experiments.flat_volume.probe import MATCHED_CE
from experiments.flat_volume.run import METHODS
from experiments.harness.figures import (
    Line,
    count,
    draw_dots,
    figure_answering,
    in_words,
    key,
    stated,
)
from experiments.harness.tables import values_of

COLOURS = ("#000000", "#0072b2", "#009e73", "#d55e00")
LINES = [Line(name, at(name), colour) for name, colour in zip(METHODS, COLOURS, strict=True)]


def plot(results: pd.DataFrame) -> Figure:
    """Dots by method for both localisations, and a scatter of networks."""
    figure, ((wide, tight, both),) = figure_answering(answer(results), 1, 3, size=(10.2, 3.6))
    for ax, metric in ((wide, LLC), (tight, TIGHT)):
        draw_dots(ax, results, metric, LINES)
        ax.set_xlabel("learning coefficient")
    tight.set_yticklabels([])
    for line in LINES:
        x, y = (values_of(results, line.where, metric) for metric in (LLC, COPIES))
        both.plot(x, y, "o", color=line.colour, markersize=5, alpha=0.8)
    both.set(xlabel="learning coefficient", ylabel="copies in the swap test", ylim=(-0.03, 1.03))
    add_titles([wide, tight, both], ["chains held loosely", "held tightly", "network by network"])
    entries = [key(line.label, line.colour, "o") for line in LINES]
    note = f"a dot is a network, {count(results, 'data sets')} each; logits scaled to equal loss"
    add_legend(figure, entries, num_columns=4, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The mean coefficient of each method, and what it copies."""
    shown = in_words(
        f"{name} {stated(results, at(name), LLC, 1)} ({stated(results, at(name), COPIES)})"
        for name in METHODS
    )
    return f"Learning coefficient at {MATCHED_CE:g} nats (share that copies):\n{shown}"
