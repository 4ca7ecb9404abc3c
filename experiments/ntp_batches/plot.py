"""The Frobenius margin's lead by method and batch size, for one next token and for three."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.harness.figures import decimal, draw_dots, figure_answering, mean_of, t_note
from experiments.harness.tables import Where
from experiments.ntp_batches.claims import LEAD
from experiments.ntp_batches.run import BATCHES, METHODS, SUPPORT_SIZES, setting

NAMES = {
    "gd": "gradient descent",
    "adam": "Adam",
    "signum": "Signum β = .99",
    "signum_long": "Signum β = .9995",
}
COLOURS = {"gd": "#000000", "adam": "#0072b2", "signum": "#d55e00", "signum_long": "#e69f00"}
TITLES = {1: "one next token", 3: "three next tokens"}


def plot(results: pd.DataFrame) -> Figure:
    """A panel for each support size."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(9.0, 3.6), share_y=True)
    for ax, support_size in zip(axes[0], SUPPORT_SIZES, strict=True):
        rows = [setting(method, batch, support_size) for method in METHODS for batch in BATCHES]
        draw_dots(ax, results, LEAD, rows, label=label, colour=lambda c: COLOURS[c["optimizer"]])
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set_xlabel("max norm  ←  leans to  →  Frobenius norm")
    add_titles(axes.ravel(), [TITLES[size] for size in SUPPORT_SIZES])
    add_note(
        figure,
        "margin over the largest one, in the Frobenius norm less in the max norm; "
        f"{t_note(results, 'problems')}",
    )
    return figure


def label(cell: Where) -> str:
    """The method and its batch."""
    batch = f"batch {cell['batch']:g}" if cell["batch"] else "all data"
    return f"{NAMES[str(cell['optimizer'])]}, {batch}"


def answer(results: pd.DataFrame) -> str:
    """The lead of every method with full batches and single examples, for one next token."""

    def moves(method: str) -> str:
        by_all, by_one = (mean_of(results, setting(method, batch), LEAD) for batch in (0, 1))
        return f"{decimal(by_all, signed=True)} to {decimal(by_one, signed=True)}"

    return (
        "From all data to single examples the lead of the Frobenius norm goes from\n"
        f"{moves('gd')} under gradient descent, {moves('adam')} under Adam, "
        f"{moves('signum')} under Signum\n({moves('signum_long')} with a longer memory)"
    )
