"""The curvature of checkpoints: the density of the Hessian's eigenvalues, and traces by group."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots.style import (
    COLOURS,
    SPARE_COLOURS,
    add_legend,
    add_question,
    add_titles,
    new_figure,
)
from el_jax.types import Estimate

LEAST_SHARE = 1e-6  # of the largest density; probes do not resolve less
_COLOURS = (*COLOURS, *SPARE_COLOURS)


def plot_curvature(
    densities: Mapping[str, Float[np.ndarray, "2 points"]],
    traces: Mapping[str, Mapping[str, Estimate]],
    question: str,
) -> Figure:
    """Draw a curve for each checkpoint's eigenvalues, if known, and a dot for each of its traces.

    Args:
        densities: checkpoint -> eigenvalues, and the density of all eigenvalues there.
        traces: checkpoint -> trace -> its value and standard error.
        question: the figure's title.
    """
    panels = 2 if densities else 1
    figure, axes = new_figure(1, panels, size=(4.5 * panels, 4.2))
    add_question(figure, question)
    _draw_traces(axes[0, -1], traces)
    if densities:
        _draw_densities(axes[0, 0], densities)
    titles = ("Spectrum of the Hessian", "Traces, with standard errors")
    add_titles(axes.ravel(), titles[-panels:])
    handles = axes[0, 0].get_legend_handles_labels()[0]
    add_legend(figure, handles, num_columns=min(len(handles), 3))
    return figure


def _draw_densities(ax: Axes, densities: Mapping[str, Float[np.ndarray, "2 points"]]) -> None:
    for number, (name, (at, density)) in enumerate(densities.items()):
        ax.plot(at, density, color=_colour(number), label=name, linewidth=1.2)
    highest = max(float(density.max()) for _, density in densities.values())
    ax.set(
        yscale="log",
        ylim=(LEAST_SHARE * highest, 2 * highest),
        xlabel="eigenvalue of the Hessian, nats per squared parameter",
        ylabel="density",
    )


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _draw_traces(ax: Axes, traces: Mapping[str, Mapping[str, Estimate]]) -> None:
    groups: Sequence[str] = list(dict.fromkeys(g for found in traces.values() for g in found))
    for number, (name, found) in enumerate(traces.items()):
        # checkpoints of one group side by side
        shift = 0.5 * (number + 0.5) / len(traces) - 0.25
        values = [found[group] for group in groups]
        ax.errorbar(
            [float(value.mean) for value in values],
            np.arange(len(groups)) + shift,
            xerr=[float(value.sem) for value in values],
            fmt="o",
            color=_colour(number),
            label=name,
            markersize=4,
        )
    ax.set_yticks(range(len(groups)), groups)
    ax.invert_yaxis()
    if all(float(value.mean) >= 0 for found in traces.values() for value in found.values()):
        ax.set_xlim(left=0)  # a Hessian's trace may be negative, and stays inside
    ax.set_xlabel("nats per squared parameter")
