"""Tr H / Tr F under three kinds of labels, and the shares of the layers in Tr F."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import SPARE_COLOURS, THEORY_COLOUR, add_note, add_panel_legend, add_titles
from experiments.flat_pretrained.claims import ON_TEXT, RATIO
from experiments.harness.figures import (
    Line,
    draw_dots,
    draw_means,
    figure_answering,
    stated,
    t_note,
)
from experiments.harness.tables import select

LABELS = {"text": "of the text", "own": "it would draw", "other": "of other contexts"}
NETWORKS = [
    Line(network, {"network": network}, colour)
    for network, colour in zip(("pretrained", "fresh"), SPARE_COLOURS, strict=False)
]
RATIOS = [
    line._replace(label=f"{line.label}, labels {words}", where={**line.where, "labels": labels})
    for line in NETWORKS
    for labels, words in LABELS.items()
]


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Left: the ratio of both traces. Right: the share of each layer."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(9.6, 4.4))
    ratios, shares = axes[0]
    draw_dots(ratios, results, RATIO, RATIOS)
    ratios.axvline(1, color=THEORY_COLOUR, linestyle="--", linewidth=1.2, zorder=1)
    ratios.set_xlabel("Tr H / Tr F; dashed: both are one")
    draw_means(shares, curves, "share", NETWORKS)
    shares.set_ylim(bottom=0)
    shares.set(xlabel="layer, from the input", ylabel="share of Tr F")
    add_panel_legend(shares)
    add_titles(axes[0], ["Tr H over Tr F", "Where Tr F lies"])
    note = t_note(select(results, {}, RATIO), "passages")
    add_note(figure, f"dots: a passage of Genesis each; bars, bands: {note}")
    return figure


def answer(results: pd.DataFrame) -> str:
    """The ratio of the pretrained network on text, and with the text's labels shuffled."""
    own, others = (stated(results, ON_TEXT | {"labels": of}, RATIO) for of in ("text", "other"))
    return (
        f"A pretrained model's Tr H is {own} Tr F on text,\n"
        f"and {others} Tr F where labels belong to other contexts"
    )
