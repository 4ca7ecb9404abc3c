"""Divergence and induction heads by the number of repetitions, for four recipes."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_repeats.claims import left_out, passes, repeated
from experiments.el_repeats.run import RECIPES, REPEATED, WORST
from experiments.harness.figures import (
    Line,
    draw_against,
    figure_answering,
    key,
    keys,
    mean_of,
    stated,
    t_note,
)
from experiments.harness.tables import Where, levels

COLOURS = dict(zip(RECIPES, ("#000000", "#0072b2", "#d55e00", "#009e73"), strict=True))
CE = "cross-entropy"
PARTS = {"kl_guessed": "guessed words", "kl_copied": "copied words"}


def plot(results: pd.DataFrame) -> Figure:
    """All words, the two kinds of words under cross-entropy, and the best head."""
    figure, ((total, parts, heads),) = figure_answering(answer(results), 1, 3, size=(11.4, 4.0))
    recipes = [Line(n, _pools(n), colour) for n, colour in COLOURS.items() if n != "E1"]
    draw_against(total, results, "kl", recipes, "pool")
    for (metric, name), style in zip(PARTS.items(), ("-", "--"), strict=True):
        draw_against(parts, results, metric, [Line(name, _pools(CE), COLOURS[CE], style)], "pool")
        _draw_left_out(parts, results, metric)
    everyone = [Line(name, _pools(name), colour) for name, colour in COLOURS.items()]
    draw_against(heads, results, "prefix_matching", everyone, "pool")
    for ax, metric in ((total, "kl"), (heads, "prefix_matching")):
        _draw_left_out(ax, results, metric)
    for ax in (total, parts):
        ax.set(yscale="log", ylabel="KL from the truth, nats")
    heads.set(ylim=(0, 1), ylabel="attention of the best head")
    pools = [int(pool) for pool in levels(results, "pool") if pool]
    for ax in (total, parts, heads):
        ax.set_xscale("log")
        ax.set_xticks(pools, [f"{passes(pool):,}" for pool in pools])
        ax.minorticks_off()
        ax.invert_xaxis()
        ax.set_xlabel("times that each sentence is read")
    add_titles(
        [total, parts, heads],
        ["all words", "cross-entropy: guessed and copied words", "induction: prefix matching"],
    )
    legend = [
        *keys(everyone),
        key("the repeated half left out (cross-entropy)", "#888888", style=":"),
        key("in (b): guessed words", "#000000"),
        key("in (b): copied words", "#000000", style="--"),
    ]
    add_legend(figure, legend, num_columns=4, note=f"means, bars: {t_note(results)}")
    return figure


def _pools(recipe: str) -> Where:
    return {"recipe": recipe, "mixture": REPEATED}


def _draw_left_out(ax: Axes, results: pd.DataFrame, metric: str) -> None:
    ax.axhline(mean_of(results, left_out(), metric), color="#888888", linestyle=":")


def answer(results: pd.DataFrame) -> str:
    """The divergence with a half repeated as often as is worst, and without that half."""
    pools = [int(pool) for pool in levels(results, "pool") if pool]
    worst = WORST if WORST in pools else pools[0]
    return (
        f"With half of the sentences read {passes(worst)} times cross-entropy ends "
        f"{stated(results, repeated(worst), 'kl', 3)} nats from the truth,\n"
        f"without that half {stated(results, left_out(), 'kl', 3)}; heavy decay "
        f"{stated(results, repeated(worst, 'weight decay'), 'kl', 3)}"
    )
