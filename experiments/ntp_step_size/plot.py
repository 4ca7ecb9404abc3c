"""The lead of a method's own norm, by the size of its steps and the number of next tokens."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles, plot_curve
from experiments.harness.figures import (
    curve_of,
    decimal,
    draw_dots,
    figure_answering,
    mean_of,
    t_note,
    t_sems,
)
from experiments.harness.tables import Where
from experiments.ntp_step_size.claims import LEAD
from experiments.ntp_step_size.run import BY_SUPPORT, METHODS, SUPPORT_SIZES, setting

NAMES = {
    "sign": "sign, 1 / √t",
    "sign_scaled": "sign × dual norm",
    "split_sign": "sign across F, 1 / √t",
    "adam": "Adam, 1 / √t",
    "adam_fast": "Adam, 1 / t^.9",
    "adam_epsilon": "Adam, ε = 1e-4, 1 / √t",
    "spectral": "spectral, 1 / √t",
    "spectral_scaled": "spectral × dual norm",
}
SHRINK = ("sign_scaled", "adam_fast", "spectral_scaled")  # steps shrink as fast as the gradient
COLOURS = {True: "#0072b2", False: "#d55e00"}
LEADS = "margin ratio: own norm less the larger of the others"


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Left: every method. Middle: sign descent by support size. Right: along training."""
    figure, axes = figure_answering(answer(results), 1, 3, size=(11.0, 3.7), share_x=False)
    draw_dots(axes[0, 0], results, LEAD, [*map(setting, METHODS)], label=label, colour=colour)
    rows = [setting(method, size) for size in SUPPORT_SIZES for method in BY_SUPPORT]
    draw_dots(axes[0, 1], results, LEAD, rows, label=by_support, colour=colour)
    for ax in axes[0, :2]:
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set_xlabel("others  ←  leans to  →  own norm")
    ends = {"adam": "-", "adam_fast": "-", "sign": ":", "sign_scaled": ":"}
    for method, style in ends.items():
        where = setting(method)
        curve = curve_of(curves, where, LEAD)
        plot_curve(axes[0, 2], curve, colour=colour(where), line_style=style, num_sems=t_sems)
    axes[0, 2].axhline(0.0, color="black", linewidth=0.8)
    axes[0, 2].set(xscale="log", xlabel="step (dotted: sign; solid: Adam)", ylim=(-0.6, 0.4))
    add_titles(axes.ravel(), ["three next tokens", "by number of next tokens S", "along training"])
    add_note(
        figure,
        f"{LEADS}; blue: steps that shrink with the gradient; {t_note(results, 'problems')}",
    )
    return figure


def label(cell: Where) -> str:
    """The method and its steps."""
    return NAMES[str(cell["optimizer"])]


def by_support(cell: Where) -> str:
    """The method with the number of next tokens."""
    return f"S = {cell['support_size']:g}, {label(cell)}"


def colour(cell: Where) -> str:
    """The colour shows whether steps shrink with the gradient."""
    return COLOURS[cell["optimizer"] in SHRINK]


def answer(results: pd.DataFrame) -> str:
    """The leads of sign descent, Adam and spectral descent with long and with short steps."""

    def moves(long: str, short: str) -> str:
        leads = (mean_of(results, setting(method), LEAD) for method in (long, short))
        return " to ".join(decimal(lead, signed=True) for lead in leads)

    return (
        "Steps that shrink with the gradient lead back to the own norm where three tokens follow:\n"
        f"its lead goes from {moves('sign', 'sign_scaled')} (sign descent), "
        f"{moves('adam', 'adam_fast')} (Adam), {moves('spectral', 'spectral_scaled')} (spectral)"
    )
