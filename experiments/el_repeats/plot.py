"""Divergence and induction heads by the number of repetitions, and the cost for four recipes."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_repeats.claims import left_out, passes, repeated
from experiments.el_repeats.run import NEW, RECIPES, REPEATED, WORST
from experiments.harness.figures import (
    Line,
    draw_against,
    draw_dots,
    figure_answering,
    key,
    keys,
    mean_of,
    stated,
    t_note,
    ticks_at,
)
from experiments.harness.tables import levels

CE = "cross-entropy"
POOLS = {"recipe": CE, "mixture": REPEATED}
WORDS = {
    "kl": Line("all words", POOLS, "#000000"),
    "kl_guessed": Line("guessed words", POOLS, "#d55e00", "--"),
    "kl_copied": Line("copied words", POOLS, "#0072b2", "--"),
}
NATS = (0.05, 0.1, 0.2, 0.5, 1, 2)  # ticks
COLOURS = dict(zip(RECIPES, ("#000000", "#0072b2", "#d55e00", "#009e73"), strict=True))


def plot(results: pd.DataFrame) -> Figure:
    """Cross-entropy by repetitions, its best head, and all recipes at the worst number."""
    figure, ((nats, heads, recipes),) = figure_answering(answer(results), 1, 3, size=(12.0, 4.2))
    for metric, line in WORDS.items():
        draw_against(nats, results, metric, [line], "pool")
    draw_against(heads, results, "prefix_matching", [WORDS["kl"]], "pool")
    for ax, metric in ((nats, "kl"), (heads, "prefix_matching")):
        _draw_references(ax, results, metric)
        _label_repetitions(ax, [int(pool) for pool in levels(results, "pool") if pool])
    nats.set(yscale="log", ylabel="KL from the truth, nats")
    nats.set_yticks(NATS[:4], [f"{value:g}" for value in NATS[:4]])
    nats.minorticks_off()
    heads.set(ylim=(0, 1), ylabel="attention of the best head")
    draw_dots(recipes, results, "kl", _rows(_worst(results)))
    ticks_at(recipes, NATS, base=10)
    recipes.set_xlabel("KL from the truth, nats")
    titles = ["cross-entropy", "cross-entropy: induction", "all words, by recipe"]
    add_titles([nats, heads, recipes], titles)
    legend = [
        *keys(WORDS.values()),
        key("repeated half left out (all words)", "#888888", style=":"),
        key("all sentences new (all words)", "#888888", style="-."),
    ]
    note = f"means, bars: {t_note(results)}; in (c) a dot is a seed"
    add_legend(figure, legend, num_columns=5, note=note)
    return figure


def _rows(pool: int) -> list[Line]:
    """Two rows for each recipe: without the half, and with it repeated."""
    rows = []
    for name, colour in COLOURS.items():
        rows.append(Line(f"{name}, left out", left_out(name), colour))
        rows.append(Line(f"repeated ×{passes(pool)}", repeated(pool, name), colour, filled=True))
    return rows


def _draw_references(ax: Axes, results: pd.DataFrame, metric: str) -> None:
    for where, style in ((left_out(), ":"), ({"recipe": CE, "mixture": NEW}, "-.")):
        ax.axhline(mean_of(results, where, metric), color="#888888", linestyle=style)


def _label_repetitions(ax: Axes, pools: list[int]) -> None:
    ax.set_xscale("log")
    ax.set_xticks(pools, [f"{passes(pool):,}" for pool in pools])
    ax.minorticks_off()
    ax.invert_xaxis()
    ax.set_xlabel("times that a sentence is read")


def _worst(results: pd.DataFrame) -> int:
    pools = [int(pool) for pool in levels(results, "pool") if pool]
    return WORST if WORST in pools else pools[0]


def answer(results: pd.DataFrame) -> str:
    """The divergence with a half repeated as often as is worst, and without that half."""
    pool = _worst(results)
    with_it, without = (stated(results, at, "kl", 3) for at in (repeated(pool), left_out()))
    return (
        f"With half of the sentences read {passes(pool)} times cross-entropy ends {with_it} nats\n"
        f"from the truth, without that half {without}"
    )
