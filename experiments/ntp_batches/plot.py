"""The Frobenius margin's lead by method and batch size, for one next token and for three."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.harness.figures import Line, draw_dots, figure_answering, stated, t_note
from experiments.ntp_batches.claims import LEAD
from experiments.ntp_batches.run import BATCHES, SUPPORT_SIZES, setting

METHODS = {  # name and colour
    "gd": ("gradient descent", "#000000"),
    "adam": ("Adam", "#0072b2"),
    "signum": ("Signum β = .99", "#d55e00"),
    "signum_long": ("Signum β = .9995", "#e69f00"),
}
TITLES = {1: "one next token", 3: "three next tokens"}


def plot(results: pd.DataFrame) -> Figure:
    """A panel for each support size."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(9.0, 3.6), share_y=True)
    for ax, support_size in zip(axes[0], SUPPORT_SIZES, strict=True):
        draw_dots(ax, results, LEAD, rows(support_size))
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set_xlabel("max norm  ←  leans to  →  Frobenius norm")
    add_titles(axes.ravel(), [TITLES[size] for size in SUPPORT_SIZES])
    add_note(
        figure,
        "margin over the largest one, in the Frobenius norm less in the max norm; "
        f"{t_note(results, 'problems')}",
    )
    return figure


def rows(support_size: int) -> list[Line]:
    """Every method with every batch."""
    return [
        Line(
            f"{name}, batch {batch}" if batch else f"{name}, all data",
            setting(method, batch, support_size),
            colour,
        )
        for method, (name, colour) in METHODS.items()
        for batch in BATCHES
    ]


def answer(results: pd.DataFrame) -> str:
    """The lead of every method with full batches and single examples, for one next token."""

    def moves(method: str) -> str:
        leads = (stated(results, setting(method, batch), LEAD, signed=True) for batch in (0, 1))
        return " to ".join(leads)

    return (
        "From all data to single examples the lead of the Frobenius norm goes from\n"
        f"{moves('gd')} under gradient descent, {moves('adam')} under Adam, "
        f"{moves('signum')} under Signum\n({moves('signum_long')} with a longer memory)"
    )
