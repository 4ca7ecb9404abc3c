"""Probabilities, the geometry of W_mm and of W*, and gradient descent on its way to both."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import (
    CurveTable,
    add_legend,
    add_question,
    add_titles,
    look_up,
    new_figure,
    plot_geometry,
    plot_median,
)
from experiments.harness.figures import GLOSSARY, count
from experiments.harness.tables import curve_table, read_curves, read_results

STYLES = {  # colour and label of a setting
    "substitute": ("#000000", "problem of (a) to (c)"),
    "circle": ("#e69f00", "random unit contexts"),
    "Gaussian": ("#56b4e9", "random Gaussian contexts"),
}
RANDOM = ("circle", "Gaussian")
MIDDLE = 0.8  # of the problems, inside a band
NUM_WORDS = 5
TITLES = (
    "Share of each next word",
    r"$W_{mm}$: words 1 and 5 coincide",
    r"$W^*$ tells them apart",
    "Loss above the entropy",
    r"Direction, to $W_{mm}$",
    r"Part in F, to $W^*$",
)
AXES = ("CE − H, nats", r"1 − cos($W, W_{mm}$)", r"$\|P_F W - W^*\|$")


def plot(out: Path) -> Figure:
    """Above: the substitute's P, W_mm and W*. Below: gradient descent, every kind of problem."""
    frame = read_curves(out / "curves.csv")
    curves = curve_table(frame)
    figure, axes = new_figure(2, 3, size=(8.4, 6.0))
    add_question(figure, answer(read_results(out / "results.csv")))
    embeddings = _columns(curves, "contexts", ["x", "y"])
    _draw_probabilities(axes[0, 0], curves)
    for ax, matrix in ((axes[0, 1], "W_mm"), (axes[0, 2], "W*")):
        decoder = _columns(curves, "words", [f"{matrix} x", f"{matrix} y"]).T
        plot_geometry(ax, embeddings, decoder)
        ax.set_xlabel("first coordinate")
    axes[0, 1].set_ylabel("second coordinate")
    metrics = ("excess_loss", "cosine_frobenius", "finite_error")
    for ax, metric, label in zip(axes[1], metrics, AXES, strict=True):
        _draw_descent(ax, curves, metric)
        ax.set_ylabel(label)
    add_titles(axes.ravel(), TITLES)
    problems = count(frame[frame["setting"].isin(RANDOM)], "problems")
    add_legend(
        figure, axes[1, 0].get_legend_handles_labels()[0], num_columns=3,
        note="(b, c) circles: contexts, stars: vectors of words    "
        f"(d–f) lines: medians, bands: the middle {100 * MIDDLE:.0f} % of {problems} of a kind"
        f"\n{GLOSSARY}",
    )  # fmt: skip
    return figure


def answer(results: pd.DataFrame) -> str:
    """In how many random problems words of equal supports coincide in W_mm and not in W*."""
    rows = results[results["setting"].isin(RANDOM) & (results["metric"] == "twins_coincide")]
    shown = f"{rows['value'].sum():.0f} of {len(rows)} random problems"
    return f"Words with equal supports coincide in $W_{{mm}}$, not in $W^*$: {shown}"


def _columns(curves: CurveTable, what: str, names: list[str]) -> np.ndarray:
    return np.stack([look_up(curves, f"substitute, {what}", n).values[0] for n in names])


def _draw_probabilities(ax: Axes, curves: CurveTable) -> None:
    probs = _columns(curves, "contexts", [f"word {z + 1}" for z in range(NUM_WORDS)]).T
    ax.imshow(probs, aspect="auto", cmap="Blues", vmin=0.0, vmax=1.0)
    ax.grid(visible=False)
    for (context, word), prob in np.ndenumerate(probs):
        text, ink = (
            (f"{prob:.1f}", "white" if prob > 0.5 else "black") if prob else ("0", "#8c8c8c")
        )
        ax.text(word, context, text, ha="center", va="center", color=ink, fontsize=9)
    ax.set_xticks(range(NUM_WORDS), [str(z + 1) for z in range(NUM_WORDS)])
    ax.set_yticks(range(len(probs)), [f"$h_{j + 1}$" for j in range(len(probs))])
    ax.set_xlabel("next word")
    ax.set_ylabel("context")


def _draw_descent(ax: Axes, curves: CurveTable, metric: str) -> None:
    for setting, (colour, label) in STYLES.items():
        curve = look_up(curves, setting, metric)
        if metric.startswith("cosine"):
            curve = curve._replace(values=1 - curve.values)
        plot_median(ax, curve, colour=colour, label=label, middle=MIDDLE)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("step of gradient descent")
