"""The lead of a method's own norm, by the size of its steps and the number of next tokens."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.harness.figures import (
    Line,
    draw_dots,
    draw_means,
    figure_answering,
    stated,
    t_note,
)
from experiments.ntp_step_size.claims import LEAD
from experiments.ntp_step_size.run import BY_SUPPORT, SUPPORT_SIZES, setting

SHRINKS, LASTS = "#0072b2", "#d55e00"  # steps that shrink as fast as the gradient, or outlast it
METHODS = {  # name and colour
    "sign": ("sign, 1 / √t", LASTS),
    "sign_scaled": ("sign × dual norm", SHRINKS),
    "split_sign": ("sign across F, 1 / √t", LASTS),
    "adam": ("Adam, 1 / √t", LASTS),
    "adam_fast": ("Adam, 1 / t^.9", SHRINKS),
    "adam_epsilon": ("Adam, ε = 1e-4, 1 / √t", LASTS),
    "spectral": ("spectral, 1 / √t", LASTS),
    "spectral_scaled": ("spectral × dual norm", SHRINKS),
}
LINES = {method: Line(name, setting(method), ink) for method, (name, ink) in METHODS.items()}
BY_SIZE = [
    LINES[m]._replace(label=f"S = {size}, {METHODS[m][0]}", where=setting(m, size))
    for size in SUPPORT_SIZES
    for m in BY_SUPPORT
]
COURSES = [LINES["adam"], LINES["adam_fast"]]
COURSES += [LINES[method]._replace(style=":") for method in ("sign", "sign_scaled")]
LEADS = "margin ratio: own norm less the larger of the others"


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Left: every method. Middle: sign descent by support size. Right: along training."""
    figure, axes = figure_answering(answer(results), 1, 3, size=(11.0, 3.7))
    for ax, rows in zip(axes[0, :2], (LINES.values(), BY_SIZE), strict=True):
        draw_dots(ax, results, LEAD, rows)
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set_xlabel("others  ←  leans to  →  own norm")
    draw_means(axes[0, 2], curves, LEAD, COURSES)
    axes[0, 2].axhline(0.0, color="black", linewidth=0.8)
    axes[0, 2].set(xscale="log", xlabel="step (dotted: sign; solid: Adam)", ylim=(-0.6, 0.4))
    add_titles(axes.ravel(), ["three next tokens", "by number of next tokens S", "along training"])
    add_note(
        figure,
        f"{LEADS}; blue: steps that shrink fast enough; {t_note(results, 'problems')}",
    )
    return figure


def answer(results: pd.DataFrame) -> str:
    """The leads of sign descent, Adam and spectral descent with long and with short steps."""

    def moves(long: str, short: str) -> str:
        leads = (stated(results, setting(m), LEAD, signed=True) for m in (long, short))
        return " to ".join(leads)

    return (
        "Steps that shrink fast enough lead back to the own norm where three tokens follow:\n"
        f"its lead goes from {moves('sign', 'sign_scaled')} (sign descent), "
        f"{moves('adam', 'adam_fast')} (Adam), {moves('spectral', 'spectral_scaled')} (spectral)"
    )
