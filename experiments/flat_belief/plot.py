"""The share of the beliefs' variance that is linear in hidden states, and the rest."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.flat_belief.claims import (
    BELIEF,
    CE,
    DEEP,
    E1,
    E2,
    LAYERS,
    LEFT,
    MESS3,
    OF_WORD,
    RRXOR,
    UNTRAINED,
)
from experiments.harness.figures import (
    draw_dots,
    figure_answering,
    mean_of,
    stated,
    t_note,
)
from experiments.harness.names import loss_name
from experiments.harness.tables import Where, is_measured, select

NAMES = {"mess3": "Mess3", "rrxor": "RRXOR"}
SETTINGS = {
    "#0072b2": MESS3 | CE,
    "#e69f00": MESS3 | E1,
    "#009e73": MESS3 | E2,
    "#cc79a7": RRXOR | CE,
    "#d55e00": DEEP | CE,
}


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Left: at the end, a dot for each run. Right: the unexplained share over training."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(9.0, 3.2))
    colours = {label(where): colour for colour, where in SETTINGS.items()}
    draw_dots(
        axes[0, 0],
        results,
        BELIEF,
        [*SETTINGS.values()],
        label=label,
        colour=lambda cell: colours[label(cell)],
    )
    for place, where in enumerate(SETTINGS.values()):
        axes[0, 0].plot(mean_of(results, where, UNTRAINED), place, "x", color="black")
        axes[0, 0].plot(mean_of(results, where, OF_WORD), place, "|", color="black", markersize=12)
        if is_measured(results, where, LAYERS):
            axes[0, 0].plot(mean_of(results, where, LAYERS), place, "*", color="black")
    axes[0, 0].set_xlabel("R² of an affine map from the last hidden states")
    for colour, where in SETTINGS.items():
        course = select(curves, where, LEFT).groupby("step")["value"].mean()
        axes[0, 1].plot(course.index, course, "o-", color=colour, markersize=3)
    axes[0, 1].axhline(1.0, color="black", linestyle=":")
    axes[0, 1].set(xlabel="updates", ylabel="multiple of fresh networks'", yscale="log")
    add_titles(axes.ravel(), ["beliefs that are linear", "what is left of them"])
    add_note(
        figure,
        f"cross: fresh networks; bar: word; star: all layers; {t_note(results)}; right: means",
    )
    return figure


def label(cell: Where) -> str:
    """The process and the loss."""
    deep = ", 4 layers" if cell.get("num_layers") == 4 else ""
    return f"{NAMES[str(cell['world'])]}{deep}, {loss_name(str(cell['loss']))}"


def answer(results: pd.DataFrame) -> str:
    """R² under the three losses, of fresh networks, and of all layers on RRXOR."""
    ce, e1, e2 = (_shown(results, MESS3 | loss, BELIEF) for loss in (CE, E1, E2))
    fresh = _shown(results, MESS3 | CE, UNTRAINED)
    last, every, deep = (
        _shown(results, where | CE, metric)
        for where, metric in ((RRXOR, BELIEF), (RRXOR, LAYERS), (DEEP, LAYERS))
    )
    return (
        f"The last layer holds {ce} of Mess3's beliefs under cross-entropy, {e1} under E1, {e2}\n"
        f"under E2, {fresh} in fresh networks; of RRXOR's {last}, both layers {every}, four {deep}"
    )


def _shown(results: pd.DataFrame, where: Where, metric: str) -> str:
    return stated(results, where, metric, 3)
