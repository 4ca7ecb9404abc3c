"""Margin ratios of every optimiser, one-hot data beside larger supports."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle

from el_jax.plots import (
    CurveTable,
    SeedTable,
    add_question,
    add_title,
    look_up,
    mean_and_sem,
    new_figure,
)
from experiments.harness.tables import curve_table, read_curves, read_results, seed_table
from experiments.ntp_optimizers.settings import NORMS, OWN_NORM, setting_name

COLOURS = ("#8c8c8c", "#000000", "#d55e00", "#e69f00", "#0072b2", "#56b4e9")  # of OWN_NORM
LINE_STYLES = {"frobenius": "-", "max": (0, (4, 1.5)), "spectral": ":"}
PANELS = {1: "one-hot data (S = 1)", 3: "S = 3 tokens after each context"}


def plot(out: Path) -> Figure:
    """Per support size a matrix of methods and norms, and the course of each one's own ratio."""
    results = seed_table(read_results(out / "results.csv"))
    curves = curve_table(read_curves(out / "curves.csv"))
    figure, axes = new_figure(2, len(PANELS), size=(8.4, 6.4), heights=(3.0, 2.0))
    add_question(figure, "Whose max margin does each optimiser lean to?")
    for (support_size, title), column in zip(PANELS.items(), axes.T, strict=True):
        image = _draw(column[0], results, support_size)
        add_title(column[0], title)
        _draw_course(column[1], curves, support_size)
    bar = figure.colorbar(image, ax=axes[0], shrink=0.9)
    bar.set_label("margin / max margin of the norm", fontsize=8)
    axes[1, 0].set_ylabel("ratio in the own norm")
    axes[1, 1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _draw(ax: Axes, results: SeedTable, support_size: int) -> AxesImage:
    rows = [[(setting_name(method, support_size), norm) for norm in NORMS] for method in OWN_NORM]
    cells = np.array([[_ratio(results, *place) for place in row] for row in rows])
    image = ax.imshow(cells[..., 0], vmin=0.0, vmax=1.0, cmap="viridis", aspect="auto")
    for (row, column), mean in np.ndenumerate(cells[..., 0]):
        ax.text(
            column, row, f"{mean:.2f}\n± {cells[row, column, 1]:.2f}", ha="center", va="center",
            fontsize=7.5, color="black" if mean > 0.6 else "white",
        )  # fmt: skip
    for row, own in enumerate(OWN_NORM.values()):
        corner = (list(NORMS).index(own) - 0.48, row - 0.47)
        ax.add_patch(Rectangle(corner, 0.96, 0.94, fill=False, edgecolor="#d55e00", linewidth=2.2))
    ax.set_xticks(range(len(NORMS)), NORMS.values())
    ax.set_yticks(range(len(OWN_NORM)), OWN_NORM)
    ax.grid(visible=False)
    ax.set_xlabel("norm of the margin; the frame is a method's own")
    return image


def _draw_course(ax: Axes, curves: CurveTable, support_size: int) -> None:
    for (method, own), colour in zip(OWN_NORM.items(), COLOURS, strict=True):
        curve = look_up(curves, setting_name(method, support_size), "margin_ratio_own")
        mean, sem = mean_and_sem(curve.values)
        half = 2 * np.nan_to_num(sem)
        ax.fill_between(curve.steps, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)
        ax.plot(curve.steps, mean, color=colour, linestyle=LINE_STYLES[own], label=method)
    ax.set_xscale("log")
    ax.set_ylim(-0.5, 1.05)
    ax.set_xlabel("step")


def _ratio(results: SeedTable, setting: str, norm: str) -> tuple[float, float]:
    """Mean and standard error of a margin ratio."""
    mean, sem = mean_and_sem(look_up(results, setting, f"margin_ratio_{norm}").values)
    return float(mean), float(sem)
