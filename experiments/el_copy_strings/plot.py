"""Runs in the swap test by number of strings: stacked shares, a panel for each recipe."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from el_jax.plots import add_legend, add_titles
from el_jax.probes.stratification import FITTED_ACCURACY
from experiments.el_copy_strings.claims import ADAMW, CE, COPIES, E1, FITTED, MUON, SHORT, SHORTCUT
from experiments.harness.figures import count, count_fitted, figure_answering, in_words, key, stated
from experiments.harness.tables import Where, is_measured, levels, select

COPYING = 0.9  # share of the swap test from which a run counts as copying
UNDOING = 0.5  # share from which a run that does not copy counts as keeping the shortcut
RECIPES: Mapping[str, Where] = {
    "cross-entropy, AdamW": CE | ADAMW,
    "E1, AdamW": E1 | ADAMW,
    "cross-entropy, β₂ = .95": CE | SHORT,
    "cross-entropy, Muon": CE | MUON,
    "E1, Muon": E1 | MUON,
}
COLOURS = {
    "copies": "#0072b2",
    "keeps the shortcut": "#e69f00",
    "neither": "#bbbbbb",
    "training strings not fitted": "#f5f5f5",
}
NUM_RESAMPLES = 2_000


def plot(results: pd.DataFrame) -> Figure:
    """A panel for each measured recipe."""
    recipes = {name: at for name, at in RECIPES.items() if is_measured(results, at, COPIES)}
    size = (2.0 * len(recipes) + 0.5, 3.4)
    figure, axes = figure_answering(
        answer(results), 1, len(recipes), size=size, share_x=True, share_y=True
    )
    for ax, where in zip(axes[0], recipes.values(), strict=True):
        _draw_shares(ax, results, where)
    axes[0, 0].set_ylabel("share of runs")
    needed = [map(_in_strings, strings_needed(results, at)) for at in recipes.values()]
    titles = [
        "{}\nhalf at {} ({} to {})".format(name, *three)
        for name, three in zip(recipes, needed, strict=True)
    ]
    add_titles(axes.ravel(), titles)
    add_legend(
        figure,
        [
            key("answers that copy, mean", "black", "D", "-"),
            *(Patch(facecolor=c, edgecolor="#888888", label=w) for w, c in COLOURS.items()),
        ],
        num_columns=5,
        note=f"by the swap test, where padding and letter disagree: a run copies if it does in "
        f"{COPYING:g} of it;\n{count(results, 'data sets')}, each with its own network, "
        "for each number of strings",
    )
    return figure


def answer(results: pd.DataFrame) -> str:
    """The share that four recipes copy with a few strings, and the number of runs that fit."""
    few = levels(results, "num_train")[min(1, len(levels(results, "num_train")) - 1)]
    shown = in_words(
        f"{stated(results, {**at, 'num_train': few}, COPIES)} ({name})"
        for name, at in RECIPES.items()
        if at is not RECIPES["cross-entropy, β₂ = .95"] and is_measured(results, at, COPIES)
    )
    return (
        f"With {few:g} strings, each recipe at its own rate, runs copy in the swap test\n"
        f"{shown}; {count_fitted(results)} runs fit"
    )


def _in_strings(number: float) -> str:
    return f"{number:,.0f}" if 0 < number < np.inf else "∞" if number else "0"


def outcomes(results: pd.DataFrame, where: Where) -> pd.Series:
    """The mechanism of each run, a word of ``COLOURS``, by its data set and number of strings."""
    kept = select(results, where)
    index = [f for f in ("seed", "num_train", "peak_lr") if f in kept]
    wide = kept.pivot(index=index, columns="metric", values="value")
    words = [*COLOURS]
    found = np.select(
        [wide[COPIES] >= COPYING, wide[SHORTCUT] >= UNDOING, wide[FITTED] >= FITTED_ACCURACY],
        words[:3],
        words[3],
    )
    return pd.Series(found, wide.index)


def _draw_shares(ax: Axes, results: pd.DataFrame, where: Where) -> None:
    """Bars of the four outcomes, one for each number of strings."""
    strings = levels(results, "num_train")
    done = outcomes(results, where)
    bottom = np.zeros(len(strings))
    for word, colour in COLOURS.items():
        share = (done == word).groupby("num_train").mean().reindex(strings).fillna(0.0).to_numpy()
        ax.bar(range(len(strings)), share, 0.85, bottom, color=colour, edgecolor="#888888")
        bottom += share
    copied = select(results, where, COPIES).groupby("num_train")["value"].mean().reindex(strings)
    ax.plot(range(len(strings)), copied.to_numpy(), "D-", color="black", markersize=4)
    ax.set_xticks(range(len(strings)), [f"{int(n)}" for n in strings], fontsize=7)
    ax.set(xlabel="training strings", ylim=(0, 1))


def strings_needed(results: pd.DataFrame, where: Where) -> tuple[float, float, float]:
    """The number of strings at which half of the runs copy, and its 95 % interval.

    By Spearman and Kärber: on a log2 scale, it is the upper end of the numbers plus half a step,
    minus the sum of the shares that copy. It assumes no form of the curve, but shares near 0 and 1
    at the ends; beyond them it is infinite, or 0. The interval is from means over resampled data
    sets.
    """
    done = outcomes(results, where) == "copies"
    table = done.groupby(["seed", "num_train"]).mean().unstack()
    place = np.log2(np.array(table.columns, float))
    step = np.diff(place).mean() if len(place) > 1 else 1.0
    draws = np.random.default_rng(0).integers(len(table), size=(NUM_RESAMPLES, len(table)))
    shares = np.concatenate([table.to_numpy().mean(0)[None], table.to_numpy()[draws].mean(1)])
    found = 2.0 ** (place[-1] + step / 2 - step * shares.sum(-1))
    found = np.where(shares[:, -1] < 0.5, np.inf, np.where(shares[:, 0] > 0.5, 0.0, found))
    low, high = np.quantile(found[1:], [0.025, 0.975], method="nearest")
    return float(found[0]), float(low), float(high)
