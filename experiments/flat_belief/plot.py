"""The share of the beliefs' variance that is linear in hidden states, and the rest."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.flat_belief.claims import (
    BELIEF,
    CE,
    DEEP,
    E1,
    E2,
    LAYERS,
    LEFT,
    MESS3,
    OF_WORD,
    RRXOR,
    UNTRAINED,
)
from experiments.harness.figures import Line, draw_dots, figure_answering, mean_of, stated, t_note
from experiments.harness.tables import select

LINES = [
    Line("Mess3, cross-entropy", MESS3 | CE, "#0072b2", filled=True),
    Line("Mess3, E1", MESS3 | E1, "#e69f00", filled=True),
    Line("Mess3, E2", MESS3 | E2, "#009e73", filled=True),
    Line("RRXOR, cross-entropy", RRXOR | CE, "#cc79a7", filled=True),
    Line("RRXOR, 4 layers, cross-entropy", DEEP | CE, "#d55e00", filled=True),
]


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Left: at the end, a dot for each run. Right: the unexplained share over training."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(9.0, 3.2))
    draw_dots(axes[0, 0], results, BELIEF, LINES)
    for place, line in enumerate(LINES):
        for metric, mark, size in ((UNTRAINED, "x", 6), (OF_WORD, "|", 12), (LAYERS, "*", 6)):
            mean = mean_of(results, line.where, metric)
            axes[0, 0].plot(mean, place, mark, color="black", markersize=size)
    axes[0, 0].set_xlabel("R² of an affine map from the last hidden states")
    for line in LINES:
        course = select(curves, line.where, LEFT).groupby("step")["value"].mean()
        axes[0, 1].plot(course.index, course, "o-", color=line.colour, markersize=3)
    axes[0, 1].axhline(1.0, color="black", linestyle=":")
    axes[0, 1].set(xlabel="updates", ylabel="multiple of fresh networks'", yscale="log")
    add_titles(axes.ravel(), ["beliefs that are linear", "what is left of them"])
    marks = "cross: fresh networks; bar: word; star: all layers"
    add_note(figure, f"{marks}; {t_note(results)}; right: means")
    return figure


def answer(results: pd.DataFrame) -> str:
    """R² under the three losses, of fresh networks, and of all layers on RRXOR."""
    ce, e1, e2 = (stated(results, MESS3 | loss, BELIEF, 3) for loss in (CE, E1, E2))
    fresh = stated(results, MESS3 | CE, UNTRAINED, 3)
    last, every, deep = (
        stated(results, where | CE, metric, 3)
        for where, metric in ((RRXOR, BELIEF), (RRXOR, LAYERS), (DEEP, LAYERS))
    )
    return (
        f"The last layer holds {ce} of Mess3's beliefs under cross-entropy, {e1} under E1, {e2}\n"
        f"under E2, {fresh} in fresh networks; of RRXOR's {last}, both layers {every}, four {deep}"
    )
