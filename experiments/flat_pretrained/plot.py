"""Tr H / Tr F under three kinds of labels, and the shares of the layers in Tr F."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import (
    THEORY_COLOUR,
    add_note,
    add_panel_legend,
    add_question,
    add_titles,
    new_figure,
    plot_curves,
    plot_seed_dots,
)
from experiments.flat_pretrained.settings import (
    LABELS,
    NETWORKS,
    OTHER,
    PRETRAINED,
    RATIO,
    TEXT,
    named,
)
from experiments.harness.figures import decimal, mean_of, t_note, t_sems
from experiments.harness.tables import curve_table, read_curves, read_results, seed_table

TITLES = ("Tr H over Tr F", "Where Tr F lies")


def plot(out: Path) -> Figure:
    """Left: the ratio of both traces. Right: the share of each layer."""
    results = read_results(out / "results.csv")
    figure, axes = new_figure(1, 2, size=(9.6, 4.4))
    add_question(figure, answer(results))
    ratios, shares = axes[0]
    settings = [named(network, labels) for network in NETWORKS for labels in LABELS]
    plot_seed_dots(ratios, seed_table(results), RATIO, settings, num_sems=t_sems)
    ratios.axvline(1, color=THEORY_COLOUR, linestyle="--", linewidth=1.2, zorder=1)
    ratios.set_xlabel("Tr H / Tr F; dashed: both are one")
    curves = curve_table(read_curves(out / "curves.csv"))
    plot_curves(shares, curves, "share", NETWORKS, num_sems=t_sems)
    shares.set_ylim(bottom=0)
    shares.set(xlabel="layer, from the input", ylabel="share of Tr F")
    add_panel_legend(shares)
    add_titles(axes[0], TITLES)
    rows = results[results["setting"].isin(settings)]
    add_note(figure, f"dots: a passage of Genesis each; bars, bands: {t_note(rows, 'passages')}")
    return figure


def answer(results: pd.DataFrame) -> str:
    """The ratio of the pretrained network on text, and with the text's labels shuffled."""
    text, other = (
        decimal(mean_of(results, named(PRETRAINED, labels), RATIO)) for labels in (TEXT, OTHER)
    )
    return (
        f"A pretrained model's Tr H is {text} Tr F on text,\nand {other} Tr F where labels belong "
        "to other contexts"
    )
