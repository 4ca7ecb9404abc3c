"""Training loss and test accuracy along training, easy against hard, a column per setting."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import EASY, HARD, add_chance_line, in_order, new_figure, plot_curves
from experiments.results import read_curves

GROUP_STYLES = {"easy": EASY, "hard": HARD}
LOSS_FLOOR = 1e-4  # nats; below, a token is learnt for every purpose here


def plot(out: Path) -> Figure:
    """Top: cross-entropy on training strings; bottom: accuracy on unseen ones."""
    curves = read_curves(out / "curves.csv")
    settings = in_order({setting for setting, _ in curves})
    size = (1.2 + 2.3 * len(settings), 4.6)
    figure, axes = new_figure(2, len(settings), size=size, share_x=True)
    figure.suptitle("Once the easy strings are fitted, how are the hard ones learnt?", fontsize=11)
    for column, setting in enumerate(settings):
        top, bottom = axes[:, column]
        top.set_title(setting.replace(", ", "\n"))
        for group, line_style in GROUP_STYLES.items():
            for ax, metric in ((top, f"train_{group}_ce"), (bottom, f"test_{group}_accuracy")):
                plot_curves(ax, curves, metric, [setting], line_style=line_style)
        _finish(top, bottom, first=column == 0)
    figure.legend(
        handles=[
            Line2D([], [], color="black", linestyle=line_style, label=f"{group} strings")
            for group, line_style in GROUP_STYLES.items()
        ],
        loc="outside lower center", ncols=2, frameon=False, fontsize=9,
    )  # fmt: skip
    return figure


def _finish(top: Axes, bottom: Axes, *, first: bool) -> None:
    top.set_yscale("log")
    top.set_ylim(LOSS_FLOOR, 20.0)
    top.set_xscale("log")
    bottom.set_ylim(0.0, 1.03)
    bottom.set_xlabel("updates")
    add_chance_line(bottom, 1 / 26)
    for ax in (top, bottom):
        ax.tick_params(labelleft=first)
    if first:
        top.set_ylabel("training cross-entropy, nats")
        bottom.set_ylabel("test accuracy")
