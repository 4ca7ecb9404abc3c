"""The share of problems that are compatible, and separable, against d / m."""

import re
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import (
    THEORY_COLOUR,
    Curve,
    CurveTable,
    add_legend,
    add_question,
    add_title,
    new_figure,
)
from experiments.results import read_curves

COLOURS = {"compatible": "#0072b2", "separable": "#d55e00"}
LINE_STYLES = ("-", (0, (4, 1.5)), ":", "-.")  # by m, the smallest first


def sizes_of(setting: str) -> tuple[int, int, int]:
    """V, S, m of a setting: ``"V=6, S=2, m=24"`` -> (6, 2, 24)."""
    V, S, m = re.findall(r"\d+", setting)
    return int(V), int(S), int(m)


def plot(out: Path) -> Figure:
    """A panel per V and S; a colour per condition, a line style per m."""
    curves = read_curves(out / "curves.csv")
    settings = sorted({setting for setting, _ in curves}, key=sizes_of)
    panels = sorted({sizes_of(setting)[:2] for setting in settings})
    figure, axes = new_figure(1, len(panels), size=(9.0, 3.6), share_y=True)
    add_question(figure, "How many dimensions does next-token data need to be fitted?")
    for (V, S), ax in zip(panels, axes[0], strict=True):
        members = [setting for setting in settings if sizes_of(setting)[:2] == (V, S)]
        _draw(ax, curves, members)
        _draw_theory(ax, V, S)
        add_title(ax, f"V = {V} tokens, S = {S} after each context")
        ax.set_xlabel("embedding dimension / contexts, d / m")
        ax.set_xlim(0, 1.02)
    axes[0, 0].set_ylabel("share of problems, 95 % band")
    add_legend(figure, axes[0, 0].get_legend_handles_labels()[0], num_columns=4)
    return figure


def _draw(ax: Axes, curves: CurveTable, settings: list[str]) -> None:
    for setting, line_style in zip(settings, LINE_STYLES, strict=False):
        m = sizes_of(setting)[2]
        for condition, colour in COLOURS.items():
            if (setting, condition) not in curves:  # every problem undecided
                continue
            curve = curves[setting, condition]
            share = curve.values.mean(axis=0)
            low, high = wilson_interval(curve)
            ax.fill_between(curve.steps / m, low, high, color=colour, alpha=0.13, linewidth=0,
                            step="post")  # fmt: skip
            ax.plot(curve.steps / m, share, color=colour, linestyle=line_style,
                    drawstyle="steps-post", label=f"{condition}, m = {m}")  # fmt: skip


def _draw_theory(ax: Axes, V: int, S: int) -> None:
    count, cover = (S - 1) / (V - 1), (V + S - 2) / (2 * (V - 1))
    for place, label, line_style in (
        (count, "counting bound (compatible)", "--"),
        (cover, "Cover's count (separable)", ":"),
    ):
        ax.axvline(place, color=THEORY_COLOUR, linestyle=line_style, linewidth=1.2, label=label)


def wilson_interval(curve: Curve, z: float = 1.96) -> tuple[np.ndarray, np.ndarray]:
    """Interval of a share of problems at each dimension (Wilson 1927), 95 % for z = 1.96."""
    n, share = len(curve.seeds), curve.values.mean(axis=0)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return centre - half, centre + half
