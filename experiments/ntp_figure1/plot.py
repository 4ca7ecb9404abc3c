"""Probabilities, the geometry of W_mm and of W*, and gradient descent on its way to both."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles, plot_geometry, plot_median
from experiments.harness.figures import GLOSSARY, count, curve_of, figure_answering
from experiments.harness.tables import select
from experiments.ntp_figure1.run import CIRCLE, GAUSSIAN, SUBSTITUTE

KINDS = {  # colour and label of a kind of problem
    SUBSTITUTE: ("#000000", "problem of (a) to (c)"),
    CIRCLE: ("#e69f00", "random unit contexts"),
    GAUSSIAN: ("#56b4e9", "random Gaussian contexts"),
}
RANDOM = {"problem": (CIRCLE, GAUSSIAN)}
MIDDLE = 0.8  # share of the problems inside a band
TITLES = (
    "Share of each next word",
    r"$W_{mm}$: words 1 and 5 coincide",
    r"$W^*$ tells them apart",
    "Loss above the entropy",
    r"Direction, to $W_{mm}$",
    r"Part in F, to $W^*$",
)
DESCENT = {
    "excess_loss": "CE − H, nats",
    "cosine_frobenius": r"1 − cos($W, W_{mm}$)",
    "finite_error": r"$\|P_F W - W^*\|$",
}


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Above: the substitute's P, W_mm and W*. Below: gradient descent, every kind of problem."""
    figure, axes = figure_answering(answer(results), 2, 3, size=(8.4, 6.0))
    contexts = _columns(curves, "contexts")
    embeddings = contexts[["x", "y"]].to_numpy().T
    _draw_probabilities(axes[0, 0], contexts.filter(like="word").to_numpy())
    words = _columns(curves, "words")
    for ax, matrix in ((axes[0, 1], "W_mm"), (axes[0, 2], "W*")):
        plot_geometry(ax, embeddings, words[[f"{matrix} x", f"{matrix} y"]].to_numpy())
        ax.set_xlabel("first coordinate")
    axes[0, 1].set_ylabel("second coordinate")
    for ax, (metric, label) in zip(axes[1], DESCENT.items(), strict=True):
        _draw_descent(ax, select(curves, {"drawn": None}), metric)
        ax.set_ylabel(label)
    add_titles(axes.ravel(), TITLES)
    note = (
        "(b, c) circles: contexts, stars: vectors of words    "
        f"(d–f) lines: medians, bands: the middle {100 * MIDDLE:.0f} % of "
        f"{count(select(curves, RANDOM), 'problems')} of a kind\n{GLOSSARY}"
    )
    add_legend(figure, axes[1, 0].get_legend_handles_labels()[0], num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The random problems where words with equal supports coincide in W_mm but not in W*."""
    rows = select(results, RANDOM, "twins_coincide")
    shown = f"{rows['value'].sum():.0f} of {len(rows)} random problems"
    return f"Words with equal supports coincide in $W_{{mm}}$, not in $W^*$: {shown}"


def _columns(curves: pd.DataFrame, drawn: str) -> pd.DataFrame:
    """A row for each context or word of the substitute."""
    rows = select(curves, {"problem": SUBSTITUTE, "drawn": drawn})
    return rows.pivot(index="step", columns="metric", values="value")


def _draw_probabilities(ax: Axes, probs: np.ndarray) -> None:
    num_contexts, num_words = probs.shape
    ax.imshow(probs, aspect="auto", cmap="Blues", vmin=0.0, vmax=1.0)
    ax.grid(visible=False)
    for (context, word), prob in np.ndenumerate(probs):
        ink = "white" if prob > 0.5 else "black" if prob else "#8c8c8c"
        text = f"{prob:.1f}" if prob else "0"
        ax.text(word, context, text, ha="center", va="center", color=ink, fontsize=9)
    ax.set_xticks(range(num_words), [str(z + 1) for z in range(num_words)])
    ax.set_yticks(range(num_contexts), [f"$h_{j + 1}$" for j in range(num_contexts)])
    ax.set(xlabel="next word", ylabel="context")


def _draw_descent(ax: Axes, curves: pd.DataFrame, metric: str) -> None:
    for kind, (colour, label) in KINDS.items():
        curve = curve_of(curves, {"problem": kind}, metric)
        if metric.startswith("cosine"):
            curve = curve._replace(values=1 - curve.values)
        plot_median(ax, curve, colour=colour, label=label, middle=MIDDLE)
    ax.set(xscale="log", yscale="log", xlabel="step of gradient descent")
