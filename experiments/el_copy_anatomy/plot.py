"""Training loss and test accuracy along training, easy against hard, a column per setting."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import (
    EASY,
    HARD,
    add_chance_line,
    add_legend,
    add_question,
    add_title,
    in_order,
    new_figure,
    plot_curves,
)
from experiments.results import read_curves

GROUP_STYLES = {"easy": EASY, "hard": HARD}
LOSS_FLOOR = 1e-4  # nats; below, a token is learnt for every purpose here


def plot(out: Path) -> Figure:
    """Top: cross-entropy on training strings; bottom: accuracy on unseen ones."""
    curves = read_curves(out / "curves.csv")
    settings = in_order({setting for setting, _ in curves})
    size = (1.2 + 2.3 * len(settings), 4.6)
    figure, axes = new_figure(2, len(settings), size=size, share_x=True)
    add_question(figure, "Once the easy strings are fitted, how are the hard ones learnt?")
    for column, setting in enumerate(settings):
        top, bottom = axes[:, column]
        add_title(top, setting)
        for group, line_style in GROUP_STYLES.items():
            for ax, metric in ((top, f"train_{group}_ce"), (bottom, f"test_{group}_accuracy")):
                plot_curves(ax, curves, metric, [setting], line_style=line_style)
        _scale(top, bottom)
        for ax in (top, bottom):
            ax.tick_params(labelleft=column == 0)
        add_chance_line(bottom, 1 / 26, label=column == len(settings) - 1)
    axes[0, 0].set_ylabel("cross-entropy on\ntraining strings, nats")
    axes[1, 0].set_ylabel("accuracy on\nunseen strings")
    add_legend(
        figure,
        [
            Line2D([], [], color="black", linestyle=line_style, label=f"{group} strings")
            for group, line_style in GROUP_STYLES.items()
        ],
    )
    return figure


def _scale(top: Axes, bottom: Axes) -> None:
    top.set_yscale("log")
    top.set_ylim(LOSS_FLOOR, 20.0)
    top.set_xscale("log")
    bottom.set_ylim(0.0, 1.03)
    bottom.set_xlabel("updates")
