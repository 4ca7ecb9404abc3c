"""Four predictions over training: medians, thin lines for problems, dashed ones for theory."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import THEORY_COLOUR, add_legend, add_titles
from experiments.harness.figures import (
    GLOSSARY,
    Line,
    count,
    curve_of,
    draw_medians,
    figure_answering,
    in_words,
    key,
    keys,
    mean_of,
)
from experiments.harness.tables import Where
from experiments.ntp_rates.run import FLOW, GD, ONE_HOT_NGD, SPLIT, STALLING

SLOW, QUICK = STALLING
DESCENT = Line("gradient descent", GD, "#000000")
IN_TIME = Line("gradient flow, t = η k", FLOW, "#cc79a7")
NORMALISED = [
    Line("normalised descent, η = 0.05", SLOW, "#e69f00"),
    Line("normalised descent, η = 0.2", QUICK, "#0072b2"),
]
ONE_HOT = Line("normalised descent, one-hot data", ONE_HOT_NGD, "#56b4e9")
ACROSS = Line("split normalised descent", SPLIT, "#009e73")
LINES = [DESCENT, IN_TIME, *NORMALISED, ONE_HOT, ACROSS]
MARGINS = [DESCENT, *NORMALISED, ONE_HOT, ACROSS]
LOSS, FINITE = r"$\eta k\,(CE - H) \,/\, \|W_{mm}\|^2$", r"$\|P_F W - W^*\|$"
FLOOR, MARGIN = r"$(CE - H) \,/\, (\lambda_F \eta^2 / 8)$", r"1 − margin / $\gamma$"
PANELS = {  # title: vertical label, metric, settings
    "Gradient descent: loss over its prediction": (LOSS, "loss_constant", [DESCENT, IN_TIME]),
    "Gradient descent: finite part, as 1 / k": (FINITE, "finite_error", [DESCENT, IN_TIME]),
    "Normalised descent: loss over its floor": (FLOOR, "loss_ratio", NORMALISED),
    "Share of the margin that is missing": (MARGIN, "margin_gap", MARGINS),
}


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Above: loss and finite part of gradient descent. Below: normalised descent, and margins."""
    figure, axes = figure_answering(answer(results), 2, 2, size=(8.4, 6.4))
    for ax, (label, metric, lines) in zip(axes.ravel(), PANELS.values(), strict=True):
        draw_medians(ax, curves, metric, lines)
        ax.set_xscale("log")
        ax.set_xlabel("step k, or time t of the flow" if IN_TIME in lines else "step k")
        ax.set_ylabel(label)
    for ax in (axes[0, 0], axes[1, 0]):
        ax.axhline(1, color=THEORY_COLOUR, linestyle="--", zorder=5)
    axes[0, 0].set_ylim(0, 1.5)
    _draw_power_law(axes[0, 1], curves, GD, "finite_error", decades=3)
    _draw_power_law(axes[1, 1], curves, SPLIT, "margin_gap", decades=2)
    for ax in (axes[0, 1], axes[1, 0], axes[1, 1]):
        ax.set_yscale("log")
    add_titles(axes.ravel(), PANELS)
    note = f"thick: median of {count(curves, 'problems')}, thin: each of them\n{GLOSSARY}"
    handles = [*keys(LINES), key("prediction", THEORY_COLOUR, style="--")]
    add_legend(figure, handles, num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """Mean distance of the last losses from predictions."""
    descent = mean_of(results, GD, "loss_constant_error")
    floors = in_words(
        f"{100 * mean_of(results, where, 'loss_ratio_error'):.1f}" for where in STALLING
    )
    steps = in_words(f"{where['step_size']:g}".lstrip("0") for where in STALLING)
    return (
        f"Gradient descent ends {100 * descent:.1f} % from the loss predicted for it,\n"
        f"normalised descent with steps of {steps} stalls {floors} % from its predicted floor"
    )


def _draw_power_law(
    ax: Axes, curves: pd.DataFrame, where: Where, metric: str, *, decades: int
) -> None:
    """1 / k through the last median, over the last decades of steps."""
    curve = curve_of(curves, where, metric)
    steps = curve.steps[curve.steps > curve.steps[-1] / 10**decades]
    last = np.median(curve.values[:, -1])
    ax.plot(steps, last * curve.steps[-1] / steps, color=THEORY_COLOUR, linestyle="--", zorder=5)
