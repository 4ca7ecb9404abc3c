"""Times to learn facts by rank, and b for each level, learning rate and loss."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_times.claims import at
from experiments.el_times.run import FAST, LEVELS, NUM_OCTAVES, OPTIMIZERS
from experiments.harness.figures import figure_answering, in_words, key, stated
from experiments.harness.statistics import t_interval
from experiments.harness.tables import Where, values_of

COLOURS = dict(zip(OPTIMIZERS, ("#000000", "#009e73", "#0072b2"), strict=True))
RANKS = 2.0 ** np.arange(NUM_OCTAVES)


def settings(optimizer: str) -> dict[str, tuple[str, Where]]:
    """Line style and runs of each setting of an optimizer, by name."""
    plain = at(optimizer)
    fast = plain | {"peak_lr": FAST * OPTIMIZERS[optimizer].rate}
    return {
        "cross-entropy": ("-", plain),
        f"at {FAST} times the rate": (":", fast),
        "E1": ("--", at(optimizer, "e1")),
    }


def plot(results: pd.DataFrame) -> Figure:
    """A panel of times over their median, and one of b."""
    figure, (axes,) = figure_answering(answer(results), 1, 2, size=(8.4, 4.0))
    axes[0].plot(RANKS, np.ones(NUM_OCTAVES), color="grey", linewidth=0.8)
    for optimizer, colour in COLOURS.items():
        for name, (style, where) in settings(optimizer).items():
            if not name.startswith("at"):
                _draw_times(axes[0], results, where, colour, style)
            _draw_exponents(axes[1], results, where, colour, style)
    axes[0].set(xscale="log", yscale="log", xlabel="rank of the fact, probability ~ 1 / rank")
    axes[1].set(xlabel="margin that is asked for, nats", ylim=(0, None), xticks=[*LEVELS.values()])
    add_titles(axes, ["time to half a nat over the median's", "b, where time ~ probability^-b"])
    entries = [key(name, colour) for name, colour in COLOURS.items()]
    entries += [key(name, "black", style=s) for name, (s, _) in settings("SGD").items()]
    seeds = len(values_of(results, at("SGD"), "exponent"))
    note = f"means; bands and bars: 95 % t interval over {seeds} worlds and networks"
    add_legend(figure, entries, num_columns=6, note=note)
    return figure


def _draw_times(ax: Axes, results: pd.DataFrame, where: Where, colour: str, style: str) -> None:
    octaves = [values_of(results, where, f"time_{k}").to_numpy() for k in range(NUM_OCTAVES)]
    if not np.isfinite(octaves).all():  # in a smoke run
        return
    shares = np.log(np.array(octaves)) - np.log(np.median(octaves, axis=0))
    ends = [t_interval(of_octave) for of_octave in shares]
    ax.plot(RANKS, np.exp([end.mean for end in ends]), style, color=colour)
    low, high = (np.exp([getattr(end, side) for end in ends]) for side in ("low", "high"))
    ax.fill_between(RANKS, low, high, color=colour, alpha=0.15, linewidth=0)


def _draw_exponents(ax: Axes, results: pd.DataFrame, where: Where, colour: str, style: str) -> None:
    names = sorted(LEVELS, key=LEVELS.__getitem__)
    ends = [t_interval(values_of(results, where, name)) for name in names]
    errors = [[end.mean - end.low for end in ends], [end.high - end.mean for end in ends]]
    levels, means = [LEVELS[name] for name in names], [end.mean for end in ends]
    ax.errorbar(levels, means, errors, color=colour, linestyle=style, marker="o", markersize=3)


def answer(results: pd.DataFrame) -> str:
    """The b of each optimizer, and of E1."""

    def exponents(loss: str) -> str:
        return in_words(
            f"{stated(results, at(name, loss), 'exponent')} ({name})" for name in OPTIMIZERS
        )

    return (
        "Time to learn a fact ~ probability^-b.\n"
        f"Cross-entropy: b = {exponents('cross_entropy')}.\n"
        f"E1: {exponents('e1')}"
    )
