"""The gap to the best decoder of a ball, and the lead of a method's own norm, by decay."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.harness.figures import decimal, draw_dots, figure_answering, mean_of, t_note
from experiments.harness.tables import Where, read_table, values_of
from experiments.ntp_decay.claims import GAP, LEAD
from experiments.ntp_decay.run import BALLS, METHODS, setting
from experiments.ntp_optimizers.plot import METHODS as NAMES


def plot(out: Path) -> Figure:
    """Left: the gap, where there is a ball. Right: the lead, with and without decay."""
    results = read_table(out / "results.csv")
    figure, axes = figure_answering(answer(results), 1, 2, size=(9.4, 4.0))
    balls = [setting(method, ball) for method in METHODS for ball in BALLS[1:]]
    draw_dots(axes[0, 0], results, GAP, balls, label=label, colour=colour)
    axes[0, 0].set(xscale="log", xlabel="nats, at most")
    rows = [setting(method, ball) for method in METHODS for ball in (0, BALLS[-1])]
    draw_dots(axes[0, 1], results, LEAD, rows, label=label, colour=colour)
    axes[0, 1].axvline(0.0, color="black", linewidth=0.8)
    axes[0, 1].set_xlabel("margin ratio: own norm less the larger of the others")
    add_titles(axes.ravel(), ["loss above the ball's best", "lead of the own norm"])
    note = "radius over the norm of the max-margin matrix of margin 1"
    add_note(figure, f"{note}; {t_note(results, 'problems')}")
    return figure


def label(cell: Where) -> str:
    """The method and its ball."""
    ball = f"radius {cell['ball']:g}" if cell["ball"] else "no decay"
    return f"{NAMES[str(cell['optimizer'])][0]}, {ball}"


def colour(cell: Where) -> str:
    """That of the method."""
    return NAMES[str(cell["optimizer"])][1]


def answer(results: pd.DataFrame) -> str:
    """The largest mean gap, and the leads of sign descent and Adam without and with decay."""
    gaps = [values_of(results, setting(m, BALLS[-1]), GAP).mean() for m in METHODS]

    def leads(method: str) -> str:
        found = [mean_of(results, setting(method, ball), LEAD) for ball in (0, BALLS[-1])]
        return " to ".join(decimal(lead, signed=True) for lead in found)

    return (
        f"With decoupled decay all come within {max(gaps):.1e} nats of the best of their ball;\n"
        f"it takes the lead of the own norm from {leads('sign')} (sign descent), "
        f"{leads('adam')} (Adam)"
    )
