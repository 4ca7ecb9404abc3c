"""What ensembles copy, and their cross-entropy, by the number of networks."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_ensemble.claims import COPIES, HARD_CE, at
from experiments.el_ensemble.run import METHODS
from experiments.harness.figures import (
    Line,
    count_fitted,
    draw_against,
    figure_answering,
    key,
    keys,
    mean_of,
    stated,
    t_note,
)
from experiments.harness.tables import levels

LINES = [
    Line(name, {"method": name}, colour)
    for name, colour in zip(METHODS, ("#000000", "#d55e00"), strict=True)
]


def plot(results: pd.DataFrame) -> Figure:
    """A panel for copying and one for cross-entropy."""
    figure, ((copies, nats),) = figure_answering(answer(results), 1, 2, size=(8.6, 4.0))
    draw_against(copies, results, COPIES, LINES, "networks")
    draw_against(nats, results, HARD_CE, LINES, "networks")
    for line in LINES:
        _draw_law(nats, results, line)
    copies.set(ylim=(0, 1), ylabel="share that copies")
    nats.set(ylim=(0, None), ylabel="nats")
    for ax in (copies, nats):
        ax.set_xlabel("networks in the ensemble, K")
        ax.set_xticks([int(k) for k in levels(results, "networks")])
    add_titles([copies, nats], ["swap test", "cross-entropy of unseen hard strings"])
    law = key("A / K + E through the ends", "#888888", style=":")
    note = f"means, bars: {t_note(results, 'data sets')}"
    add_legend(figure, [*keys(LINES), law], num_columns=3, note=note)
    return figure


def _draw_law(ax: Axes, results: pd.DataFrame, line: Line) -> None:
    """Draw A / K + E with the means of the least and the largest ensemble."""
    sizes = np.array(levels(results, "networks"), float)
    ends = [mean_of(results, at(line.label, int(k)), HARD_CE) for k in sizes[[0, -1]]]
    scale = (ends[0] - ends[1]) / (1 / sizes[0] - 1 / sizes[-1])
    ax.plot(sizes, ends[1] + scale * (1 / sizes - 1 / sizes[-1]), ":", color="#888888", zorder=3)


def answer(results: pd.DataFrame) -> str:
    """What one network and the largest ensemble copy, with and without heavy decay."""
    largest = int(max(levels(results, "networks")))

    def of(method: str) -> str:
        one, all_of_them = (stated(results, at(method, k), COPIES) for k in (1, largest))
        return f"{one} and {all_of_them} ({method})"

    first, second = map(of, METHODS)
    return (
        f"One network and {largest} together copy in the swap test {first}\n"
        f"and {second}; {count_fitted(results)} networks fit"
    )
