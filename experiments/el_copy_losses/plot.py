"""Accuracy on unseen hard strings, and the share that copies, a row for each loss and strength."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.el_copy_losses.claims import CE, COPIES, HARD
from experiments.harness.figures import (
    Line,
    count_fitted,
    decimal,
    draw_dots,
    figure_answering,
    lines_in,
    mean_of,
    stated,
    t_note,
)
from experiments.harness.names import name_of
from experiments.harness.tables import Where, cells, exactly, levels

PANELS = {HARD: "unseen hard strings", COPIES: "swap test"}
AXES = ("share that is right", "share that copies")
EASY = "test_precise_easy_accuracy"


def plot(results: pd.DataFrame) -> Figure:
    """A column for each measure, a row of panels for each size of the alphabet."""
    lines = {size: _lines(results, size) for size in levels(results, "alphabet_size")}
    figure, axes = figure_answering(
        answer(results),
        len(lines),
        len(PANELS),
        size=(8.4, 1.5 + 0.36 * sum(map(len, lines.values())) + 0.5 * len(lines)),
        heights=[len(members) + 0.5 for members in lines.values()],
        share_x=True,
    )
    for (size, members), row in zip(lines.items(), axes, strict=True):
        for metric, ax in zip(PANELS, row, strict=True):
            draw_dots(ax, results, metric, members, chance=1 / size)
            ax.set_xlim(-0.02, 1.03)
            ax.tick_params(labelleft=ax is row[0])
    titles = [f"{title}, V = {size:g}" for size in lines for title in PANELS.values()]
    add_titles(axes.ravel(), titles, pad=14.0)
    for ax, label in zip(axes[-1], AXES, strict=True):
        ax.set_xlabel(label)
    easy = ", ".join(
        f"{decimal(min(mean_of(results, one.where, EASY) for one in members))} (V = {size:g})"
        for size, members in lines.items()
    )
    add_note(
        figure,
        f"dots: a run each, with its own data and network; diamonds: mean, {t_note(results)}, "
        f"filled: with warm-up\nunseen easy strings: right on at least {easy}",
    )
    return figure


def _lines(results: pd.DataFrame, size: int) -> list[Line]:
    """The settings with an alphabet, by loss, strength and warm-up."""
    found = cells(results, {"alphabet_size": size}, HARD)
    found.sort(key=lambda one: (one["loss"], one.get("lam", 0), one.get("b", 0)))
    return lines_in(results, (exactly(results, one) for one in found), _name)


def _name(factors: Where) -> str:
    return name_of({f: v for f, v in factors.items() if not f.endswith(("_size", "_length"))})


def answer(results: pd.DataFrame) -> str:
    """The E1 that copies most against cross-entropy, both with warm-up; the number that fit."""
    size = levels(results, "alphabet_size")[0]
    warm = {"warmup_steps": levels(results, "warmup_steps")[-1], "alphabet_size": size}
    copied = {
        lam: mean_of(results, {"loss": "e1", "lam": lam} | warm, COPIES)
        for lam in levels(results, "lam", {"loss": "e1"} | warm)
    }
    best = max(copied, key=lambda lam: copied[lam])
    return (
        f"With warm-up, E1 copies most at λ = {best:g}, {decimal(copied[best])} of the swap test; "
        f"cross-entropy {stated(results, CE | warm, COPIES)}.\n"
        f"{count_fitted(results)} runs fit the hard training strings"
    )
