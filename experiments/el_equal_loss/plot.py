"""The share that copies at each level of training loss, and when it was reached."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.el_equal_loss.claims import COPIES, LATE, LEVELS, REACHED, at
from experiments.el_equal_loss.run import NUMBERS
from experiments.el_methods.plot import rows
from experiments.harness.figures import draw_dots, figure_answering, in_words, stated, t_note
from experiments.harness.tables import select

SHOWN = ("weight decay", "Muon", "cross-entropy", "E1")


def plot(results: pd.DataFrame) -> Figure:
    """A panel for each level, and one for the updates until the lowest."""
    panels = [(COPIES, f"copies at {level:g} nats", level) for level in LEVELS]
    panels += [(REACHED, f"updates until {LATE:g} nats", LATE)]
    figure, axes = figure_answering(answer(results), 1, len(panels), size=(9.6, 3.6))
    for ax, (metric, _, level) in zip(axes[0], panels, strict=True):
        stopped = select(results, {"stop_at_ce": level})
        draw_dots(ax, results, metric, rows(stopped, NUMBERS))
    for ax in axes[0, 1:]:
        ax.set_yticklabels([])
    for ax in axes[0, : len(LEVELS)]:
        ax.set_xlim(-0.03, 1.03)
    add_titles(axes.ravel(), [title for _, title, _ in panels])
    add_note(figure, f"share of the swap test; {t_note(results, 'data sets')}")
    return figure


def answer(results: pd.DataFrame) -> str:
    """The share that methods copy at the lowest level, and how many runs reached theirs."""
    shown = in_words(f"{name} {stated(results, at(name, LATE), COPIES)}" for name in SHOWN)
    reached = select(results, {}, REACHED)["value"].notna()
    return (
        f"Stopped at a training loss of {LATE:g} nats ({reached.sum()} of {len(reached)} runs "
        f"reached their level)\nruns copy: {shown}"
    )
