"""Held-out accuracy against dimensions, a panel for each mechanism."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.harness.figures import (
    Line,
    draw_against,
    figure_answering,
    stated,
    t_note,
    ticks_at,
)
from experiments.harness.tables import levels
from experiments.ntp_equal_margins.claims import HELD_OUT, at

PANELS = {
    "same margin": "one margin for all, beside a shortcut",
    "own margins": "a margin of its own for each context",
}
DECODERS = {  # label, colour and line style
    "max margin": ("max margin (cross-entropy)", "#000000", "-"),
    "equal margins": ("equal margins (E3)", "#0072b2", "-"),
    "E1": ("E1, by gradient descent", "#d55e00", ""),
}


def plot(results: pd.DataFrame) -> Figure:
    """A line for each decoder; points for E1 where it was trained."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(8.8, 3.7), share_y=True)
    for ax, mechanism in zip(axes[0], PANELS, strict=True):
        lines = [
            Line(label, {"mechanism": mechanism, "decoder": decoder}, colour, style)
            for decoder, (label, colour, style) in DECODERS.items()
        ]
        draw_against(ax, results, HELD_OUT, lines, "ratio")
        ticks_at(ax, levels(results, "ratio"), base=2)
        ax.set(xlabel="dimensions / contexts", ylim=(-0.03, 1.03))
    axes[0, 0].set_ylabel("right on held-out contexts")
    add_titles(axes.ravel(), [*PANELS.values()])
    handles = axes[0, 0].get_legend_handles_labels()[0]
    note = f"(a) held out: contexts whose shortcut is wrong; {t_note(results, 'data sets')}"
    add_legend(figure, handles, num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """Both decoders' accuracy under each mechanism, where they differ most."""

    def shown(mechanism: str, ratio: float) -> list[str]:
        both = (at(mechanism, ratio, decoder) for decoder in ("max margin", "equal margins"))
        return [stated(results, one, HELD_OUT) for one in both]

    (max_same, equal_same), (max_own, equal_own) = (
        shown(mechanism, ratio) for mechanism, ratio in (("same margin", 0.5), ("own margins", 1.1))
    )
    return (
        f"Where the mechanism gives one margin, equal margins are right on {equal_same}, the max\n"
        f"margin on {max_same}; where each context has its own, on {equal_own} and {max_own}"
    )
