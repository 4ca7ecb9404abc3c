"""Least dimensions and margins of contexts, a row for each embedding."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import SPARE_COLOURS, add_note, add_titles
from experiments.harness.figures import Line, draw_dots, figure_answering, stated, t_note
from experiments.harness.tables import select
from experiments.ntp_pretrained.run import EMBEDDINGS, LENGTHS, PERMUTED, PRETRAINED, SHARE

PANELS = {
    SHARE: ("Dimensions that separate", "least d / m, principal directions"),
    "margin_share": ("Margin in all dimensions", "margin / that if orthonormal"),
}


def plot(results: pd.DataFrame) -> Figure:
    """Left: least dimensions. Right: margins."""
    results = select(results, {"next_tokens": None})
    figure, axes = figure_answering(answer(results), 1, 2, size=(8.6, 4.6), share_y=True)
    rows = [
        Line(
            f"{name.replace('gaussian', 'Gaussian')}, T = {T}",
            {"context_length": T, "embedding": name},
            colour,
        )
        for T in LENGTHS
        for name, colour in zip(EMBEDDINGS, SPARE_COLOURS, strict=False)
    ]
    for ax, (metric, (_, words)) in zip(axes[0], PANELS.items(), strict=True):
        draw_dots(ax, results, metric, rows)
        ax.set_xlabel(words)
        ax.set_xlim(left=0)
    add_titles(axes[0], [title for title, _ in PANELS.values()])
    note = (
        f"dots: a passage of Genesis each; diamonds: mean, {t_note(results, 'passages')}\n"
        "permuted: the pretrained features, given to other contexts; fresh: before training"
    )
    add_note(figure, note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The share of dimensions that pretrained features need, and that permuted ones need."""
    mine, permuted = (
        " and ".join(
            stated(results, {"embedding": name, "context_length": T}, SHARE) + f" m (T = {T})"
            for T in LENGTHS
        )
        for name in (PRETRAINED, PERMUTED)
    )
    return (
        f"A pretrained model's features separate text from d = {mine};\n"
        f"given to other contexts, they do from {permuted}"
    )
