"""Exact match of every run over training."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_path_star.claims import EXACT_MATCH, chance, share_found
from experiments.el_star_time.claims import at
from experiments.el_star_time.run import GRAPH, OBJECTIVES
from experiments.harness.figures import count, curve_of, figure_answering, in_words, key
from experiments.harness.tables import levels

PALETTE = ("#000000", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00")
COLOURS = dict(zip(OBJECTIVES, PALETTE, strict=True))


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """One panel with a line for each run."""
    (warm_up,) = levels(results, "warmup_steps")
    rows = at(warm_up)
    found = {name: share_found(results, where) for name, where in rows.items()}
    of_each = (f"{name} {round(share * num)} of {num}" for name, (share, num) in found.items())
    title = f"Runs that find the arm on {GRAPH}:\n{in_words(of_each)}"
    figure, ((ax,),) = figure_answering(title, 1, 1, size=(8.6, 4.2))
    for name, where in rows.items():
        course = curve_of(curves, where, EXACT_MATCH)
        ax.plot(course.steps, course.values.T, color=COLOURS[name], linewidth=1.0, alpha=0.8)
    ax.axhline(chance(GRAPH), color="grey", linestyle=":", linewidth=1)
    ax.set(xlabel="updates, each of 64 new graphs", ylim=(-0.03, 1.03))
    add_titles([ax], ["whole path right on unseen graphs"])
    entries = [key(name, colour) for name, colour in COLOURS.items()]
    note = f"a line is a run, {count(results)} each; dotted: 1/d"
    add_legend(figure, entries, num_columns=4, note=note)
    return figure
