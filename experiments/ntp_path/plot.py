"""Direction and finite part against the radius of the ball; predictions are dashed."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import THEORY_COLOUR, add_legend, add_titles, plot_median
from experiments.harness.figures import (
    GLOSSARY,
    count,
    curve_of,
    decimal,
    figure_answering,
    key,
    mean_of,
    ticks_at,
)
from experiments.harness.tables import levels

PANELS = {  # title: vertical label, metric
    "Direction: as a power of the radius": (r"1 − cosine of $W_B$ with $W_{mm}$", "angle"),
    "Finite part: exponentially": (r"$\|P_F W_B - W^*\|$", "finite_error"),
}


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Two panels: medians over problems, every problem a thin line, the prediction dashed."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(8.4, 3.8))
    for ax, (label, metric) in zip(axes[0], PANELS.values(), strict=True):
        curve = curve_of(curves, {}, metric)
        plot_median(ax, curve, colour="#0072b2")
        radii = curve.steps[curve.steps >= curve.steps[-1] / 2]
        falls = (radii / radii[-1]) ** -2.0 if metric == "angle" else np.exp(radii[-1] - radii)
        last = np.median(curve.values[:, -1])
        ax.plot(radii, last * falls, color=THEORY_COLOUR, linestyle="--", zorder=5)
        ax.set_yscale("log")
        ax.set_xlabel(r"radius of the ball, $B / \|W_{mm}\|$")
        ax.set_ylabel(label)
    ticks_at(axes[0, 0], [r for r in (1, 2, 5, 10, 20) if r <= curve.steps[-1]], base=10)
    add_titles(axes[0], PANELS)
    handles = [
        key("minimiser of CE over the ball", "#0072b2"),
        key(r"prediction: $B^{-2}$, $e^{-B/\|W_{mm}\|}$", THEORY_COLOUR, style="--"),
    ]
    note = f"thick: median of {count(curves, 'problems')}, thin: each of them\n{GLOSSARY}"
    add_legend(figure, handles, num_columns=2, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """Mean cosine and mean distance to W* in the largest ball."""
    radius = levels(results, "radius")[-1]
    cosine, finite = (mean_of(results, {"radius": radius}, m) for m in ("cosine", "finite_error"))
    return (
        "As the ball grows, its best decoder turns to $W_{mm}$ "
        f"(cosine {decimal(cosine, 3)} at radius {radius:g} $\\|W_{{mm}}\\|$)\n"
        f"and its part in F comes to $W^*$ (distance {finite:.0e})".replace("e-0", "e-")
    )
