"""The share that copies, and accuracy on unseen hard strings, by the number of easy strings."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from el_jax.probes.stratification import FITTED_ACCURACY
from experiments.el_easy_strings.claims import ALONE, COPIES, FITTED, HARD, PASSES, UPDATES
from experiments.el_easy_strings.run import METHODS
from experiments.el_methods.run import STRINGS
from experiments.harness.figures import decimal, draw_against, figure_answering, mean_of, t_note
from experiments.harness.tables import levels, read_table, select

COLOURS = dict(zip(METHODS, ("#000000", "#0072b2", "#d55e00"), strict=True))
LABELS = {"weight decay": "heavy decay"}
MEASURES = {COPIES: "share that copies (swap test)", HARD: "share that is right (unseen hard)"}
EQUAL = {"as many updates": UPDATES, "as many passes over hard strings": PASSES}


def plot(out: Path) -> Figure:
    """A row for each measure; a column for equal updates and one for equal passes."""
    results = read_table(out / "results.csv")
    figure, axes = figure_answering(answer(results), 2, 2, size=(8.6, 5.8), share_y=True)
    strings = levels(results, "num_train")
    for row, (metric, label) in zip(axes, MEASURES.items(), strict=True):
        for ax, equal in zip(row, EQUAL.values(), strict=True):
            for name, colour in COLOURS.items():
                where, shown = {"method": name, **equal}, LABELS.get(name, name)
                draw_against(ax, results, metric, where, "num_train", label=shown, colour=colour)
            ax.set_xscale("log", base=2)
            ax.set_xticks(strings, [f"{n - ALONE:g}" for n in strings])
            ax.minorticks_off()
        row[0].set(ylabel=label, ylim=(-0.03, 1.03))
    for ax in axes[-1]:
        ax.set_xlabel(f"easy training strings, beside {ALONE:g} hard ones")
    add_titles(axes.ravel(), [*EQUAL, *EQUAL])
    note = f"dots: a run each; diamonds: mean, {t_note(results, 'data sets')}"
    lines = axes[0, 0].get_legend_handles_labels()[0]
    add_legend(figure, lines, num_columns=len(METHODS), note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The shares that each recipe copies without easy strings and with the paper's share."""
    shares = [
        tuple(
            decimal(mean_of(results, {"method": name, "num_train": n, **UPDATES}, COPIES))
            for n in (STRINGS, ALONE)
        )
        for name in METHODS
    ]
    (ce, ce_alone), (e1, e1_alone), (decay, decay_alone) = shares
    fitted = select(results, {}, FITTED)["value"] >= FITTED_ACCURACY
    return (
        f"Without 320 easy strings, {ALONE} hard ones are copied in {ce_alone} of the swap test "
        f"in place of {ce} (cross-entropy),\n{e1_alone} for {e1} (E1), {decay_alone} for {decay} "
        f"(heavy decay). {fitted.sum()} of {len(fitted)} runs fit"
    )
