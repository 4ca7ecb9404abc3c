"""Changes of KL, probes and traces against the strength of the adversary."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import DASHED, SOLID, THEORY_COLOUR, add_legend, add_titles, plot_lines_vs
from experiments.flat_adversarial.claims import ATTACKED, CHOSEN, LOOKUP
from experiments.flat_time.run import ACCURACIES, TRACES, WORLDS
from experiments.harness.figures import decimal, figure_answering, mean_of, t_note, t_sems
from experiments.harness.tables import levels, values_of

PANELS = {
    ("kl",): "change of KL, nats",
    ACCURACIES: "change of the probe, points",
    TRACES: "trace over that of λ = 0",
}
LINES = (
    ("#0072b2", SOLID, "attacked label; Fisher trace"),
    ("#d55e00", DASHED, "other label; scale-free trace"),
)
TRUE = "attacked label, true conditionals in place of the network"


def plot(results: pd.DataFrame) -> Figure:
    """A row for each world."""
    figure, axes = figure_answering(
        answer(results), len(WORLDS), len(PANELS), size=(9.6, 6.2), share_x=True
    )
    for row, world in zip(axes, WORLDS, strict=True):
        for ax, metrics in zip(row, PANELS, strict=True):
            _draw(ax, results, world, metrics)
        lookup, base = (
            mean_of(results, {"world": world, "weight": 0}, metric) for metric in (LOOKUP, ATTACKED)
        )
        row[1].axhline(
            100 * (lookup - base), color=THEORY_COLOUR, linestyle=":", linewidth=1.2, label=TRUE
        )
    for ax in axes[-1]:
        ax.set_xlabel("strength λ of the adversary, nats")
    names = [f"{world.upper()}: {words}" for world in WORLDS for words in PANELS.values()]
    add_titles(axes.ravel(), names)
    note = f"against λ = 0 of the same seed, which draws world, data and network; {t_note(results)}"
    add_legend(figure, axes[0, 1].get_legend_handles_labels()[0], num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """KL, accuracy and trace of the ordinary and the adversarial model in every world."""
    lines = ["Training against a downstream label"]
    largest = max(levels(results, "weight"))  # a smoke run has small ones only
    for world, weight in CHOSEN.items():
        chosen = min(weight, largest)
        kl, right, trace = (
            [mean_of(results, {"world": world, "weight": w}, metric) for w in (0, chosen)]
            for metric in ("kl", ATTACKED, "fisher_trace")
        )
        lines.append(
            f"{world.upper()}, λ = {chosen:g}: KL {decimal(kl[0], 3)} to {decimal(kl[1], 3)}, "
            f"probe {decimal(right[0])} to {decimal(right[1])}, "
            f"trace × {decimal(trace[1] / trace[0])}"
        )
    return "\n".join(lines)


def changed(results: pd.DataFrame, world: str, weight: float, metric: str) -> pd.Series:
    """The change that a strength makes, seed by seed: of an accuracy in points, of a trace × ."""
    before, after = (values_of(results, {"world": world, "weight": w}, metric) for w in (0, weight))
    if metric in TRACES:
        return after / before
    return (after - before) * (100 if metric in ACCURACIES else 1)


def _draw(ax: Axes, results: pd.DataFrame, world: str, metrics: tuple[str, ...]) -> None:
    weights = levels(results, "weight")
    places = range(len(weights))
    for metric, (colour, style, label) in zip(metrics, LINES, strict=False):
        changes = [changed(results, world, weight, metric).to_numpy() for weight in weights]
        plot_lines_vs(
            ax,
            places,
            changes,
            label=label,
            colour=colour,
            line_style=style,
            num_sems=t_sems,
        )
    ax.axhline(1.0 if metrics == TRACES else 0.0, color="0.6", linewidth=0.8, zorder=1)
    ax.set_xlim(-0.1, len(weights) - 0.8)
    ax.set_xticks(places, [f"{weight:g}" for weight in weights])
