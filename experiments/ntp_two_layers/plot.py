"""Margins of every method in every norm, and the course of each in its own."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.harness.figures import Line, count, draw_medians, figure_answering, keys, mean_of
from experiments.harness.tables import values_of
from experiments.ntp_optimizers.plot import draw_matrix
from experiments.ntp_two_layers.claims import at
from experiments.ntp_two_layers.run import METHODS, NORMS

COLOURS = ("#e69f00", "#d55e00", "#009e73", "#cc79a7", "#0072b2")
LINES = [Line(name, at(name), colour) for name, colour in zip(METHODS, COLOURS, strict=True)]


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """A matrix of methods by norms, and the courses."""
    figure, (axes,) = figure_answering(answer(results), 1, 2, size=(9.2, 3.9))
    means = [[mean_of(results, at(name), f"share_{norm}") for norm in NORMS] for name in METHODS]
    own = [[*NORMS].index(method.norm) for method in METHODS.values()]
    draw_matrix(axes[0], np.array(means), [*METHODS], [*NORMS], own)
    draw_medians(axes[1], curves, "margin_own", LINES, of=lambda m: np.where(m > 0, m, np.nan))
    axes[1].set(xscale="log", yscale="log", xlabel="updates")
    add_titles(axes, ["share of the largest margin", "margin in the method's own norm"])
    note = f"right: median of {count(curves, 'problems')}, thin: each of them, where separated"
    add_legend(figure, keys(LINES), num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The number of problems in which methods lead in their own norm."""
    leads = {name: values_of(results, at(name), "lead") > 0 for name in METHODS}
    least = min(int(lead.sum()) for lead in leads.values())
    total = len(leads["Adam"])
    problems = f"all {total}" if least == total else f"{least} or more of {total}"
    return (
        "In networks of two layers, too, an optimizer has a larger margin in its own norm\n"
        f"than those of other norms: each of the {len(METHODS)} in {problems} problems"
    )
