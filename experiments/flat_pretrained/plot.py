"""Tr H / Tr F under three kinds of labels, and the shares of the layers in Tr F."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import (
    SPARE_COLOURS,
    THEORY_COLOUR,
    add_note,
    add_panel_legend,
    add_titles,
    plot_curve,
)
from experiments.flat_pretrained.claims import ON_TEXT, RATIO
from experiments.harness.figures import (
    curve_of,
    draw_dots,
    figure_answering,
    stated,
    t_note,
    t_sems,
)
from experiments.harness.tables import Where, select

LABELS = {"text": "of the text", "own": "it would draw", "other": "of other contexts"}
COLOURS = {"pretrained": SPARE_COLOURS[0], "fresh": SPARE_COLOURS[1]}


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Left: the ratio of both traces. Right: the share of each layer."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(9.6, 4.4))
    ratios, shares = axes[0]
    draw_dots(
        ratios,
        results,
        RATIO,
        [{"network": network, "labels": labels} for network in COLOURS for labels in LABELS],
        label=lambda factors: f"{factors['network']}, labels {LABELS[factors['labels']]}",
        colour=lambda factors: COLOURS[factors["network"]],
    )
    ratios.axvline(1, color=THEORY_COLOUR, linestyle="--", linewidth=1.2, zorder=1)
    ratios.set_xlabel("Tr H / Tr F; dashed: both are one")
    for network, colour in COLOURS.items():
        curve = curve_of(curves, {"network": network}, "share")
        plot_curve(shares, curve, colour=colour, label=network, num_sems=t_sems)
    shares.set_ylim(bottom=0)
    shares.set(xlabel="layer, from the input", ylabel="share of Tr F")
    add_panel_legend(shares)
    add_titles(axes[0], ["Tr H over Tr F", "Where Tr F lies"])
    note = t_note(select(results, {}, RATIO), "passages")
    add_note(figure, f"dots: a passage of Genesis each; bars, bands: {note}")
    return figure


def answer(results: pd.DataFrame) -> str:
    """The ratio of the pretrained network on text, and with the text's labels shuffled."""

    def shown(where: Where) -> str:
        return stated(results, where, RATIO)

    return (
        f"A pretrained model's Tr H is {shown(ON_TEXT)} Tr F on text,\n"
        f"and {shown(ON_TEXT | {'labels': 'other'})} Tr F where labels belong to other contexts"
    )
