"""The course of training, a column per setting: loss, gradient, answers and mechanism."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import (
    EASY,
    HARD,
    CurveTable,
    add_chance_line,
    add_legend,
    add_question,
    add_title,
    in_order,
    new_figure,
    plot_curves,
)
from experiments.harness.tables import curve_table, read_curves

LOSS_FLOOR = 1e-4  # nats; below, a token is learnt for every purpose here
# a row of panels: what its vertical axis says, and the metrics it draws, dashed and solid
ROWS: dict[str, dict[str, object]] = {
    "cross-entropy on\ntraining strings, nats": {"train_easy_ce": EASY, "train_hard_ce": HARD},
    "hard strings' share of\nthe squared gradient": {"train_hard_gradient_share": HARD},
    "accuracy on\nunseen strings": {"test_easy_accuracy": EASY, "test_hard_accuracy": HARD},
    "answers where padding\nand letter disagree": {"swap_undoes_shift": EASY, "swap_copies": HARD},
}
HARD_FRACTION = 0.2  # of all strings: their share if all tokens pulled alike


def plot(out: Path) -> Figure:
    """Rows: training loss, gradient share, test accuracy, and the swap test."""
    curves = read_curves(out / "curves.csv")
    settings = in_order(set(curves["setting"]))
    table = curve_table(curves)
    size = (1.2 + 2.3 * len(settings), 8.2)
    figure, axes = new_figure(len(ROWS), len(settings), size=size, share_x=True)
    add_question(figure, "Once the easy strings are fitted, how are the hard ones learnt?")
    for column, setting in enumerate(settings):
        add_title(axes[0, column], setting)
        for ax, (label, metrics) in zip(axes[:, column], ROWS.items(), strict=True):
            _panel(ax, table, setting, metrics)
            ax.tick_params(labelleft=column == 0)
            if column == 0:
                ax.set_ylabel(label)
        axes[0, column].set_yscale("log")
        axes[0, column].set_ylim(LOSS_FLOOR, 20.0)
        axes[1, column].axhline(HARD_FRACTION, color="#777777", linestyle=":", linewidth=1.2)
        add_chance_line(axes[2, column], 1 / 26, label=column == len(settings) - 1)
        axes[-1, column].set_xlabel("updates")
    add_legend(figure, _handles(), num_columns=1)
    return figure


def _panel(ax: Axes, curves: CurveTable, setting: str, metrics: dict[str, object]) -> None:
    for metric, line_style in metrics.items():
        plot_curves(ax, curves, metric, [setting], line_style=line_style)
    ax.set_xscale("log")
    ax.set_ylim(0.0, 1.03)


def _handles() -> list[Line2D]:
    names = {
        EASY: "easy strings; bottom row: undoes the shift of the padding",
        HARD: "hard strings; bottom row: copies the letter (bands: ± 2 standard errors over seeds)",
        ":": "second row: the hard strings' share of tokens; third: chance",
    }
    return [Line2D([], [], color="black", linestyle=s, label=n) for s, n in names.items()]
