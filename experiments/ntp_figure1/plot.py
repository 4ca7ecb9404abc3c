"""Probabilities, the geometry of W_mm and of W*, and gradient descent on its way to both."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import (
    CurveTable,
    add_legend,
    add_question,
    add_title,
    look_up,
    new_figure,
    plot_geometry,
)
from experiments.harness.tables import curve_table, read_curves

STYLES = {  # colour and label of a setting
    "substitute": ("#000000", "the substitute of Figure 1"),
    "circle": ("#e69f00", "random unit embeddings (thick: median)"),
    "Gaussian": ("#56b4e9", "random Gaussian embeddings (thick: median)"),
}
NUM_WORDS = 5


def plot(out: Path) -> Figure:
    """Above: the substitute's P, W_mm and W*. Below: gradient descent, every problem a line."""
    curves = curve_table(read_curves(out / "curves.csv"))
    figure, axes = new_figure(2, 3, size=(10.5, 6.8))
    add_question(figure, "Which word vectors do the supports decide, which the probabilities?")
    embeddings = _columns(curves, "contexts", ["x", "y"])
    _draw_probabilities(axes[0, 0], curves)
    for ax, matrix, title in (
        (axes[0, 1], "W_mm", r"Max-margin $W_{mm}$: words 1 and 5 coincide"),
        (axes[0, 2], "W*", r"Finite $W^*$: they are told apart"),
    ):
        decoder = _columns(curves, "words", [f"{matrix} x", f"{matrix} y"]).T
        plot_geometry(ax, embeddings, decoder)
        add_title(ax, title)
    _draw_descent(axes[1, 0], curves, "excess_loss", "CE − H, nats")
    _draw_descent(axes[1, 1], curves, "cosine_frobenius", r"1 − cos($W, W_{mm}$)", complement=True)
    _draw_descent(axes[1, 2], curves, "finite_error", r"$\|P_F W - W^*\|$")
    add_legend(figure, axes[1, 0].get_legend_handles_labels()[0], num_columns=3)
    return figure


def _columns(curves: CurveTable, what: str, names: list[str]) -> np.ndarray:
    return np.stack([look_up(curves, f"substitute, {what}", n).values[0] for n in names])


def _draw_probabilities(ax: Axes, curves: CurveTable) -> None:
    probs = _columns(curves, "contexts", [f"word {z + 1}" for z in range(NUM_WORDS)]).T
    ax.imshow(np.ma.masked_equal(probs, 0), aspect="auto", cmap="viridis", vmin=0.0, vmax=1.0)
    ax.set_facecolor("black")
    ax.grid(visible=False)
    for (context, word), prob in np.ndenumerate(probs):
        if prob > 0:
            ink = "black" if prob > 0.5 else "white"
            ax.text(word, context, f"{prob:.1f}", ha="center", va="center", color=ink, fontsize=8)
    ax.set_xticks(range(NUM_WORDS), [str(z + 1) for z in range(NUM_WORDS)])
    ax.set_yticks(range(3), [f"$h_{j + 1}$" for j in range(3)])
    ax.set_xlabel("word")
    add_title(ax, "P, black off the support")


def _draw_descent(
    ax: Axes, curves: CurveTable, metric: str, title: str, *, complement: bool = False
) -> None:
    """The median over problems, and every problem."""
    for setting, (colour, label) in STYLES.items():
        curve = look_up(curves, setting, metric)
        values = 1 - curve.values if complement else curve.values
        ax.plot(curve.steps, values.T, color=colour, linewidth=0.5, alpha=0.35)
        ax.plot(curve.steps, np.median(values, axis=0), color=colour, linewidth=2.2, label=label)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("step of gradient descent")
    add_title(ax, title)
