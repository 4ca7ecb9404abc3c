"""Map-likeness of every seed on each star, and the held-out paths that it finds."""

import itertools

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.el_star_in_weights.claims import (
    CE,
    HELD_OUT,
    SPECTRAL,
    STARS,
    TINY,
    e_losses,
    on,
    path_chance,
    spectral_chance,
)
from experiments.harness.figures import draw_dots, figure_answering, lines_in, stated, t_note
from experiments.harness.names import name_of
from experiments.harness.tables import Where, cells, levels

ROWS = {SPECTRAL: "share in the slowest eigenvectors", HELD_OUT: "held-out paths right"}


def plot(results: pd.DataFrame) -> Figure:
    """Left column: the tiny star. Others: the wide star at two rates, geometry over paths."""
    figure, axes = figure_answering(answer(results), len(ROWS), len(STARS), size=(13.0, 9.0))
    axes[1, 0].remove()  # the tiny star has no held-out paths
    panels = dict(zip(itertools.product(ROWS, STARS), axes.ravel(), strict=True))
    del panels[HELD_OUT, TINY]
    for (metric, star), ax in panels.items():
        settings = sorted(cells(results, STARS[star], metric), key=_place)
        chance = path_chance(star) if metric == HELD_OUT else spectral_chance(star)
        draw_dots(ax, results, metric, lines_in(results, settings, _name), chance)
        ax.set(xlim=(-0.03, 1.03), xlabel=ROWS[metric])
    titles = [f"{star}: η = {STARS[star]['peak_lr']:g}" for _, star in panels]
    add_titles(panels.values(), titles, pad=16.0)
    add_note(
        figure,
        f"dots: a star and a network each; diamonds: mean, {t_note(results)}; filled: with "
        "warm-up; dotted: rows given to the nodes at random, or a guess of the arm",
    )
    return figure


def _place(setting: Where) -> tuple:
    """Put the controls below the losses."""
    return tuple(setting[f] for f in ("untold", "optimizer", "loss", "warmup_steps"))


def _name(setting: Where) -> str:
    """The name of a setting without its star and rate, which are in the panel's title."""
    if setting["untold"]:
        return "edges untold"
    if setting["optimizer"] != "adamw":
        return "frozen table"
    return name_of({f: setting[f] for f in ("loss", "lam", "b", "warmup_steps") if f in setting})


def answer(results: pd.DataFrame) -> str:
    """The share of the slowest eigenvectors on every star, and the held-out paths, with warm-up."""
    lines = ["Share of the table in the graph's slowest eigenvectors (held-out paths right)"]
    for star in STARS:
        warm, shown = on(star, levels(results, "warmup_steps")[-1]), []
        for loss in (CE, *e_losses(star)):
            share, paths = (stated(results, loss | warm, metric) for metric in ROWS)
            shown.append(f"{name_of(loss)} {share}" + ("" if star == TINY else f" ({paths})"))
        lines.append(f"{star}: {', '.join(shown)}")
    return "\n".join(lines)
