"""Every seed's map-likeness on each star, and the held-out paths it finds."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_question, add_titles, new_figure, plot_seed_dots
from experiments.el_star_in_weights.settings import (
    CE,
    CONTROLS,
    E_LOSSES,
    HELD_OUT,
    NONE,
    RATES,
    SIZES,
    SLOW,
    SPECTRAL,
    TINY,
    WARM,
    WIDE,
    control,
    named,
    path_chance,
    spectral_chance,
)
from experiments.harness.figures import decimal, mean_of, t_note, t_sems
from experiments.harness.tables import read_results, seed_table, settings_with

PANELS = {  # of a star and a metric, which need not be measured at every scale
    (TINY, SPECTRAL): "share in the slowest eigenvectors",
    (WIDE, SPECTRAL): "share in the slowest eigenvectors",
    (SLOW, SPECTRAL): "share in the slowest eigenvectors",
    (WIDE, HELD_OUT): "held-out paths right",
    (SLOW, HELD_OUT): "held-out paths right",
}


def plot(out: Path) -> Figure:
    """Left column: the tiny star. Others: the wide star at two rates, geometry over paths."""
    results = read_results(out / "results.csv")
    figure, axes = new_figure(2, len(SIZES), size=(13.0, 9.0))
    add_question(figure, answer(results))
    places = {panel: axes[int(panel[1] == HELD_OUT), [*SIZES].index(panel[0])] for panel in PANELS}
    for (star, metric), ax in places.items():
        shown = [name for name in settings_of(star) if name in settings_with(results, metric)]
        chance = path_chance(star) if metric == HELD_OUT else spectral_chance(star)
        plot_seed_dots(ax, seed_table(results), metric, shown, chance=chance, num_sems=t_sems)
        ax.set_yticklabels([words_of(star, name) for name in shown])
        ax.set(xlim=(-0.03, 1.03), xlabel=PANELS[star, metric])
    axes[1, 0].remove()  # the tiny star has no held-out paths
    add_titles([*places.values()], [f"{star}: η = {RATES[star]:g}" for star, _ in PANELS], pad=16.0)
    add_note(
        figure,
        f"dots: a star and a network each; diamonds: mean, {t_note(results)}; filled: with "
        "warm-up; dotted: rows given to the nodes at random, or a guess of the arm",
    )
    return figure


def settings_of(star: str) -> list[str]:
    """The settings of a star, losses first."""
    return [
        *(named(star, loss, warm) for loss in (CE, *E_LOSSES[star]) for warm in (NONE, WARM)),
        *(control(star, name) for name in CONTROLS[star]),
    ]


def words_of(star: str, setting: str) -> str:
    """The name of a setting without its star and its rate, which the panel's title has."""
    for name in CONTROLS[star]:
        if setting == control(star, name):
            return name
    own = setting.removesuffix(f", {TINY if star == TINY else WIDE}")
    return own.replace(f" η={RATES[star]:g}", "")


def answer(results: pd.DataFrame) -> str:
    """The share of the slowest eigenvectors on every star, and the held-out paths, with warm-up."""
    lines = ["Share of the table in the graph's slowest eigenvectors (held-out paths right)"]
    for star in SIZES:
        shown = []
        for loss in (CE, *E_LOSSES[star]):
            setting = named(star, loss, WARM)
            share = decimal(mean_of(results, setting, SPECTRAL))
            paths = "" if star == TINY else f" ({decimal(mean_of(results, setting, HELD_OUT))})"
            shown.append(f"{loss} {share}{paths}")
        lines.append(f"{star}: {', '.join(shown)}")
    return "\n".join(lines)
