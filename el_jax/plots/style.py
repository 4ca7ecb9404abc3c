"""The common style of all figures: one rcParams dict, colours, titles, notes and legends.

Colours are those of Okabe and Ito (2008), which remain distinguishable with common colour-vision
deficiencies.
"""

import io
import string
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.container import Container
from matplotlib.figure import Figure
from PIL import Image

RC_PARAMS: dict[Any, Any] = {
    "font.size": 9,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "lines.linewidth": 1.6,
    "svg.hashsalt": "el_jax",  # else a drawing's identifiers are drawn at random
}
UNDATED = {".pdf": "CreationDate", ".svg": "Date"}  # metadata that would change with the clock

COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73")
SPARE_COLOURS = ("#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c8c8c")
CHANCE_COLOUR = "#777777"
NOTE_COLOUR = "#555555"
THEORY_COLOUR = "#c1272d"  # predictions of a formula, always dashed

SOLID: Any = "-"
DASHED: Any = (0, (4, 1.5))
LEGEND_FONT_SIZE = 8
DPI = 200


def new_figure(
    num_rows: int = 1,
    num_columns: int = 1,
    *,
    size: tuple[float, float] = (7.0, 3.2),
    share_x: bool = False,
    share_y: bool = False,
    heights: Sequence[float] | None = None,
) -> tuple[Figure, np.ndarray]:
    """Make an empty figure in this style, drawn by Agg, without changing global state.

    Args:
        num_rows: rows of axes.
        num_columns: columns of axes.
        size: width and height in inches.
        share_x: all axes have the same horizontal range.
        share_y: all axes have the same vertical range.
        heights: relative heights of the rows; by default equal.

    Returns:
        The figure and its axes, an object array ``[num_rows, num_columns]``.
    """
    with matplotlib.rc_context(RC_PARAMS):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(
            num_rows,
            num_columns,
            sharex=share_x,
            sharey=share_y,
            height_ratios=heights,
            squeeze=False,
        )
    return figure, axes


def add_question(figure: Figure, question: str) -> None:
    """Title the figure with its question, or the answer with its number; wrap long titles."""
    figure.suptitle(question, fontsize=11, fontweight="bold", wrap=True)


def add_title(ax: Axes, title: str, *, pad: float = 6.0) -> None:
    """Title an axes with its part of the figure's question; ``pad`` in points above it."""
    ax.set_title(title, loc="left", fontsize=9.5, pad=pad)


def add_titles(axes: Iterable[Axes], titles: Iterable[str], *, pad: float = 6.0) -> None:
    """Title the panels of a figure in order, with the letters (a), (b), ... that text names."""
    for letter, ax, title in zip(string.ascii_lowercase, axes, titles, strict=False):
        add_title(ax, f"({letter}) {title}", pad=pad)


def add_note(figure: Figure, note: str) -> None:
    """Put a line under the figure that explains how to read it."""
    figure.supxlabel(note, fontsize=LEGEND_FONT_SIZE, color=NOTE_COLOUR)


def add_legend(
    figure: Figure,
    handles: Sequence[Artist | Container],
    *,
    num_columns: int = 2,
    note: str | None = None,
) -> None:
    """Put the legend under the figure, where it covers no data.

    Args:
        figure: the figure.
        handles: artists with labels.
        num_columns: columns of the legend.
        note: a line above the legend, such as the meaning of bars.
    """
    legend = figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=num_columns,
        frameon=False,
        fontsize=LEGEND_FONT_SIZE,
        handlelength=3.5,
        title=note,
        title_fontsize=LEGEND_FONT_SIZE,
    )
    legend.get_title().set(color=NOTE_COLOUR, multialignment="center")


def add_panel_legend(ax: Axes) -> None:
    """Put the legend of one panel under its axis, where it covers no data."""
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.2),
        frameon=False,
        fontsize=LEGEND_FONT_SIZE,
    )


def add_chance_line(
    ax: Axes,
    chance: float,
    *,
    vertical: bool = False,
    label: bool = True,
    name: str = "chance",
) -> None:
    """Draw a dotted line at the accuracy of guessing, with its value at its end outside the axes.

    Args:
        ax: the axes.
        chance: the place of the line.
        vertical: for an accuracy on the horizontal axis.
        label: write name and value; False where panels side by side share one label.
        name: the word before the value.
    """
    draw = ax.axvline if vertical else ax.axhline
    draw(chance, color=CHANCE_COLOUR, linestyle=":", linewidth=1.2, zorder=1, gid="chance")
    if not label:
        return
    place: dict[str, Any] = (
        {"xy": (chance, 1.0), "xytext": (0, 2), "xycoords": ax.get_xaxis_transform()}
        | {"ha": "center", "va": "bottom", "text": f"{name} {chance:.2g}"}
        if vertical
        else {"xy": (1.0, chance), "xytext": (3, 0), "xycoords": ax.get_yaxis_transform()}
        | {"ha": "left", "va": "center", "text": f"{name}\n{chance:.2g}"}
    )
    ax.annotate(**place, textcoords="offset points", color=CHANCE_COLOUR, fontsize=7)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as .pdf, .svg or .png; a figure built again gives the same bytes.

    A .png has 200 dots per inch and a palette of 256 colours, which reduces the file to a third.
    """
    figure.draw_without_rendering()  # ticks depend on the layout, which settles when drawn again
    if path.suffix in UNDATED:
        with matplotlib.rc_context(RC_PARAMS):
            figure.savefig(path, metadata={UNDATED[path.suffix]: None})
        return
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI)
    palette = Image.open(drawn).convert("RGB").quantize(dither=Image.Dither.NONE)
    palette.save(path, format="png", dpi=(DPI, DPI), optimize=True)
