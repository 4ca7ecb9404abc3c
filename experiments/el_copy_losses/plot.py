"""Accuracy on unseen strings, a row per loss, hard and easy side by side."""

from pathlib import Path

from matplotlib.figure import Figure

from el_jax.plots import add_note, add_question, add_title, in_order, new_figure, plot_seed_dots
from experiments.harness.tables import read_results, seed_table

LARGE_ALPHABET = ", V=500"
GROUPS = {
    "test_precise_hard_accuracy": "hard strings: padding is random",
    "test_precise_easy_accuracy": "easy strings: padding tells the answer",
}


def plot(out: Path) -> Figure:
    """A panel per group of strings, a row of panels per size of the alphabet."""
    results = read_results(out / "results.csv")
    settings = in_order(set(results["setting"]))
    table = seed_table(results)
    small = [setting for setting in settings if not setting.endswith(LARGE_ALPHABET)]
    large = [setting for setting in settings if setting.endswith(LARGE_ALPHABET)]
    rows = [row for row in ((small, 1 / 26), (large, 1 / 500)) if row[0]]

    figure, axes = new_figure(
        len(rows),
        len(GROUPS),
        size=(8.0, 1.3 + 0.4 * len(settings) + 0.3 * len(rows)),
        heights=[len(members) + 0.5 for members, _ in rows],
        share_x=True,
    )
    add_question(figure, "Which losses make a transformer copy from the right place?")
    for (members, chance), panels in zip(rows, axes, strict=True):
        for metric, ax in zip(GROUPS, panels, strict=True):
            plot_seed_dots(ax, table, metric, members, chance=chance)
            ax.set_xlim(-0.02, 1.03)
        panels[-1].tick_params(labelleft=False)
    for title, ax in zip(GROUPS.values(), axes[0], strict=True):
        add_title(ax, title, pad=14.0)
    for ax in axes[-1]:
        ax.set_xlabel("accuracy on unseen strings")
    add_note(figure, "dots: seeds · diamonds: mean ± 2 standard errors, filled with warm-up")
    return figure
