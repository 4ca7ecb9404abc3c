"""Least dimensions and margins of contexts under each embedding, a row each."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_question, add_titles, new_figure, plot_seed_dots
from experiments.harness.figures import decimal, mean_of, t_note, t_sems
from experiments.harness.tables import read_results, seed_table
from experiments.ntp_pretrained.settings import (
    EMBEDDINGS,
    LENGTHS,
    PERMUTED,
    PRETRAINED,
    SHARE,
    named,
)

PANELS = {
    SHARE: ("Dimensions that separate", "least d / m, principal directions"),
    "margin_share": ("Margin in all dimensions", "margin / that if orthonormal"),
}


def plot(out: Path) -> Figure:
    """Left: least dimensions. Right: margins."""
    results = read_results(out / "results.csv")
    figure, axes = new_figure(1, 2, size=(8.6, 4.6), share_y=True)
    add_question(figure, answer(results))
    table = seed_table(results)
    settings = [named(embedding, length) for length in LENGTHS for embedding in EMBEDDINGS]
    for ax, (metric, (_, words)) in zip(axes[0], PANELS.items(), strict=True):
        plot_seed_dots(ax, table, metric, settings, num_sems=t_sems)
        ax.set_xlabel(words)
        ax.set_xlim(left=0)
    add_titles(axes[0], [title for title, _ in PANELS.values()])
    rows = results[results["setting"].isin(settings)]
    note = (
        f"dots: a passage of Genesis each; diamonds: mean, {t_note(rows, 'passages')}\n"
        "permuted: the pretrained features, given to other contexts; fresh: before training"
    )
    add_note(figure, note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The share of dimensions that the pretrained features need, and permuted ones."""
    mine, permuted = (
        " and ".join(
            f"{decimal(mean_of(results, named(embedding, length), SHARE))} m (T = {length})"
            for length in LENGTHS
        )
        for embedding in (PRETRAINED, PERMUTED)
    )
    return (
        f"A pretrained model's features separate text from d = {mine};\n"
        f"given to other contexts, they do from {permuted}"
    )
