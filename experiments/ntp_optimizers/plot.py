"""Margin ratios of every optimiser in three norms, one-hot data beside larger supports."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle

from el_jax.plots import SeedTable, add_question, add_title, look_up, mean_and_sem, new_figure
from experiments.results import read_results

NORMS = {"frobenius": "Frobenius", "max": "max", "spectral": "spectral"}
METHODS = {  # and the column of each one's own norm
    "gd": 0,
    "ngd": 0,
    "sign": 1,
    "adam": 1,
    "spectral": 2,
    "muon": 2,
}
PANELS = {1: "one-hot data (S = 1)", 3: "S = 3 tokens after each context"}


def plot(out: Path) -> Figure:
    """A matrix of methods and norms per support size; a method's own norm has a frame."""
    results = read_results(out / "results.csv")
    figure, axes = new_figure(1, len(PANELS), size=(8.0, 3.9), share_y=True)
    add_question(figure, "Whose max margin does each optimiser lean to?")
    for (support_size, title), ax in zip(PANELS.items(), axes[0], strict=True):
        image = _draw(ax, results, support_size)
        add_title(ax, title)
    bar = figure.colorbar(image, ax=axes[0], shrink=0.9)
    bar.set_label("margin / max margin of the norm", fontsize=8)
    return figure


def _draw(ax: Axes, results: SeedTable, support_size: int) -> AxesImage:
    rows = [[(f"{method}, S={support_size}", norm) for norm in NORMS] for method in METHODS]
    cells = np.array([[_ratio(results, *place) for place in row] for row in rows])
    image = ax.imshow(cells[..., 0], vmin=0.0, vmax=1.0, cmap="viridis", aspect="auto")
    for (row, column), mean in np.ndenumerate(cells[..., 0]):
        ax.text(
            column, row, f"{mean:.2f}\n± {cells[row, column, 1]:.2f}", ha="center", va="center",
            fontsize=7.5, color="black" if mean > 0.6 else "white",
        )  # fmt: skip
    for row, column in enumerate(METHODS.values()):
        corner = (column - 0.48, row - 0.47)
        ax.add_patch(Rectangle(corner, 0.96, 0.94, fill=False, edgecolor="#d55e00", linewidth=2.2))
    ax.set_xticks(range(len(NORMS)), NORMS.values())
    ax.set_yticks(range(len(METHODS)), METHODS)
    ax.grid(visible=False)
    ax.set_xlabel("norm of the margin; the frame is a method's own")
    return image


def _ratio(results: SeedTable, setting: str, norm: str) -> tuple[float, float]:
    """Mean and standard error of a margin ratio."""
    mean, sem = mean_and_sem(look_up(results, setting, f"margin_ratio_{norm}").values)
    return float(mean), float(sem)
