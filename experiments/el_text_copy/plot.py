"""Exact match of every seed: a column for each text; all, easy and hard sentences below another."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.el_text_copy.claims import ALL, CE, E1, E1_ONE, EASY, HARD, title
from experiments.harness.figures import draw_dots, figure_answering, lines_in, stated, t_note
from experiments.harness.names import name_of
from experiments.harness.tables import Where, cells, exactly, is_measured, levels

PANELS = {ALL: "all sentences", EASY: "easy", HARD: "hard"}


def plot(results: pd.DataFrame) -> Figure:
    """A row of panels for each group of sentences."""
    texts = levels(results, "source")
    figure, axes = figure_answering(
        answer(results), len(PANELS), len(texts), size=(9.6, 11.0), share_x=True
    )
    for metric, row in zip(PANELS, axes, strict=True):
        for text, ax in zip(texts, row, strict=True):
            settings = sorted(cells(results, {"source": text}, metric), key=_place)
            rows = [exactly(results, one) for one in settings]
            lines = lines_in(results, rows, lambda one: _name(results, one))
            draw_dots(ax, results, metric, lines)
            ax.set_xlim(-0.03, 1.03)
            ax.tick_params(labelleft=ax is row[0])
    for ax in axes[-1]:
        ax.set_xlabel("exact match of the label, unseen sentences")
    titles = [f"{title(text)}, {what}" for what in PANELS.values() for text in texts]
    add_titles(axes.ravel(), titles)
    add_note(figure, f"dots: a run each; diamonds: mean, {t_note(results)}, filled: with warm-up")
    return figure


def _place(setting: Where) -> tuple:
    """Put the controls below the losses, and more sentences below both."""
    control, lam = setting.get("label", ""), -setting.get("lam", 0)
    return setting["num_train"], control, setting["loss"], lam, setting["warmup_steps"]


def _name(results: pd.DataFrame, setting: Where) -> str:
    """The name of a setting without its text; with the number of sentences if it is larger."""
    name = name_of({f: setting[f] for f in ("loss", "lam", "warmup_steps") if f in setting})
    if "label" in setting:
        name += f", label {setting['label']}"
    if setting["num_train"] > levels(results, "num_train")[0]:
        name += f", {setting['num_train']:,} sentences"
    return name


def answer(results: pd.DataFrame) -> str:
    """The exact match of cross-entropy and of E1 with warm-up on every text."""
    warm_up, few = levels(results, "warmup_steps")[-1], levels(results, "num_train")[0]
    named: dict[str, dict[str, Any]] = {
        "cross-entropy": CE | {"warmup_steps": 0},
        "E1 with warm-up": E1 | {"warmup_steps": warm_up},
        "at λ = .5": E1_ONE | {"warmup_steps": warm_up},
    }
    shown = []
    for text in levels(results, "source"):
        at: dict[str, Any] = {"source": text, "num_train": few, "label": None}
        means = [
            f"{name} {stated(results, at | setting, ALL)}"
            for name, setting in named.items()
            if is_measured(results, at | setting, ALL)
        ]
        shown.append(f"{title(text)}: {', '.join(means)}")
    return "Labels given back\n" + "\n".join(shown)
