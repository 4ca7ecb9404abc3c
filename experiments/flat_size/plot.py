"""Accuracy of probes and traces at equal loss against the width, a column for each world."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import COLOURS, DASHED, SOLID, add_legend, add_titles
from experiments.flat_size.claims import LEVEL, derived
from experiments.flat_time.claims import ASKED
from experiments.flat_time.run import WORLDS
from experiments.harness.figures import (
    Line,
    decimal,
    draw_against,
    figure_answering,
    mean_of,
    t_note,
    ticks_at,
)
from experiments.harness.tables import levels

BLACK, BLUE, ORANGE, GREEN = COLOURS
PROBES = {  # label, colour and line style of a metric
    "accuracy_1": ("nearer label", BLACK, SOLID),
    "accuracy_2": ("farther label", "#8c8c8c", DASHED),
}
TRACES = {
    "trace_released": ("embedded as released, s = 1/k", ORANGE, SOLID),
    "trace_balanced": ("embedded, s = 1/√k", BLUE, SOLID),
    "trace_matrices": ("matrices only", GREEN, DASHED),
    "trace": ("as it is", BLACK, ":"),
}


def plot(results: pd.DataFrame) -> Figure:
    """Above: probes. Below: traces."""
    equal = derived(results)
    figure, axes = figure_answering(answer(equal), 2, len(WORLDS), size=(8.4, 6.4), share_x=True)
    for column, world in zip(axes.T, WORLDS, strict=True):
        for ax, lines in zip(column, (PROBES, TRACES), strict=True):
            for metric, (label, colour, style) in lines.items():
                line = Line(label, {"world": world}, colour, style, filled=True)
                draw_against(ax, equal, metric, [line], "width")
        widths = levels(equal, "width", {"world": world})
        column[1].set(xscale="log", yscale="log", xlabel="width")
        ticks_at(column[1], widths)
    axes[0, 0].set_ylabel("accuracy of the probe")
    axes[1, 0].set_ylabel("Fisher trace")
    add_titles(axes.ravel(), [world.upper() for world in WORLDS] * 2)
    handles = [handle for ax in axes[:, 0] for handle in ax.get_legend_handles_labels()[0]]
    note = f"dots: a seed each, which draws world, data and network; markers: mean, {t_note(equal)}"
    add_legend(figure, handles, num_columns=3, note=note)
    return figure


def answer(equal: pd.DataFrame) -> str:
    """The numbers of the narrowest and the widest network in every world."""
    return "Networks of equal divergence from the truth\n" + "\n".join(
        _of_world(equal, world) for world in WORLDS
    )


def _of_world(equal: pd.DataFrame, world: str) -> str:
    narrow, *_, wide = levels(equal, "width", {"world": world})

    def ends(metric: str) -> list[float]:
        return [mean_of(equal, {"world": world, "width": w}, metric) for w in (narrow, wide)]

    def times(metric: str) -> str:
        first, last = ends(metric)
        return decimal(last / first)

    label, accuracy = ASKED[world]
    low, high = map(decimal, ends(accuracy))
    return (
        f"{world.upper()} at {decimal(ends(LEVEL)[0])} nats, width {narrow} to {wide}: "
        f"{label} label {low} to {high}, trace × {times('trace_released')} (s = 1/k), "
        f"× {times('trace_balanced')} (s = 1/√k)"
    )
