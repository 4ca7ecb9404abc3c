"""The minority's error in time for every α and share, and its exponent against α."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import DASHED, SOLID, add_legend, add_titles
from experiments.harness.figures import (
    Line,
    draw_against,
    draw_means,
    figure_answering,
    in_words,
    key,
    stated,
    t_note,
)
from experiments.ntp_minority.claims import LEAST, at
from experiments.ntp_minority.run import ALPHAS, SHARES

COLOURS = dict(zip(ALPHAS, ("#d55e00", "#e69f00", "#0072b2", "#000000"), strict=True))
STYLES = dict(zip(SHARES, (SOLID, DASHED), strict=True))
LINES = [
    Line(f"α = {alpha:g}", at(alpha, share), colour, style)
    for alpha, colour in COLOURS.items()
    for share, style in STYLES.items()
]
MEASURED = Line("measured", {"share": LEAST}, "#0072b2", "none")


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """The courses on the left, exponents with the kink of theory on the right."""
    figure, (axes,) = figure_answering(answer(results), 1, 2, size=(9.0, 3.9))
    draw_means(axes[0], curves, "minority_log_error", LINES)
    axes[0].set_xlabel("log10 of the time t")
    axes[0].set_ylabel("log10 of the error")
    draw_against(axes[1], results, "minority_exponent", [MEASURED], "alpha")
    line = np.array([0.2, 1.0, 2.2])
    axes[1].plot(line, np.maximum(1.0, line), color="#8c8c8c", zorder=0)
    axes[1].set_xlabel("α")
    add_titles(axes, ["error of the minority", f"its exponent (share {LEAST:g}), and max(1, α)"])
    handles = [key(f"α = {alpha:g}", colour) for alpha, colour in COLOURS.items()]
    handles += [key(f"share {share:g}", "#8c8c8c", style=style) for share, style in STYLES.items()]
    add_legend(figure, handles, num_columns=6, note=t_note(results, "problems"))
    return figure


def answer(results: pd.DataFrame) -> str:
    """The exponents by α, and the powers of the share."""
    exponents = in_words(
        f"t^-{stated(results, at(alpha, LEAST), 'minority_exponent')}" for alpha in ALPHAS
    )
    powers = in_words(stated(results, at(alpha), "power_of_share") for alpha in ALPHAS)
    shown = in_words(f"{alpha:g}" for alpha in ALPHAS)
    return (
        f"A minority's error falls as {exponents}\nat α = {shown}: the kink is at 1. "
        f"Its share counts\nwith a power of {powers}"
    )
