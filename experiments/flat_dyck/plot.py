"""Trace against error of trained nets, trace against length, and transfer from few samples."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import THEORY_COLOUR, add_legend, add_titles
from experiments.flat_dyck.claims import fitting
from experiments.flat_dyck.transfer import exact_probability
from experiments.harness.figures import count, decimal, figure_answering, key, mean_of, t_sems
from experiments.harness.tables import levels, select, values_of

SOLUTIONS = {  # colour, marker and label of constructed nets
    "balance neurons": ("#009e73", "*", "solution 1: two neurons read the balance"),
    "kinked neurons": ("#d55e00", "X", "kinked neurons, for relu'(0) = 0"),
    "random features": ("#7a5195", "s", "solution 2: random features"),
}
NEARBY = ("#d55e00", "x", "kinked neurons, just off the kinks")
TOKENS = ("#8c8c8c", "D", "the tokens")
TRAINED = {  # colour and label of trained nets
    "plain": ("#000000", "trained"),
    "label noise": ("#56b4e9", "trained with label noise"),
    "penalty": ("#e69f00", "trained with a penalty on the trace"),
}
FLOOR = 1e-9  # smaller errors are drawn here
TRACE_TICKS = (1, 2, 5, 10, 20)


def plot(results: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Left: trace and error of every net of the trained length. Middle: traces. Right: samples."""
    figure, axes = figure_answering(answer(results), 1, 3, size=(9.6, 5.0))
    _draw_errors(axes[0, 0], fitting(results))
    _draw_traces(axes[0, 1], results)
    _draw_samples(axes[0, 2], curves)
    titles = (
        title_of_errors(results),
        "Two kinds attain the bound",
        "Solution 1 needs few samples",
    )
    add_titles(axes.ravel(), titles)
    note = (
        "T: brackets of a sentence, p: probability of balance 0\n"
        f"(a) every net that fits, {count(select(results, {'net': 'trained'}))} and all widths; "
        "errors below 1e-9 are drawn there; ±: 95 % t interval\n"
        "(b) means; of random features the least over rescaled neurons"
    )
    add_legend(figure, _handles(), num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """Errors with and without the penalty, and with the kinked neurons; all from 20 samples."""
    penalised, plain = (
        mean_of(results, {"net": net, "length": None}, "median_n20") for net in ("penalty", "plain")
    )
    kinked, nearby = (
        mean_of(results, {"net": "kinked neurons", "length": trained_length(results)}, metric)
        for metric in ("median_n20", "nearby_ratio")
    )
    return (
        f"A penalty on the trace leads to nets that transfer (error {decimal(penalised, 4)}; "
        f"without {decimal(plain)}).\nKinked neurons are as flat and do not (error "
        f"{decimal(kinked, 3)}), but just off the kinks their trace is {nearby:.2f} of the bound"
    )


def trained_length(results: pd.DataFrame) -> int:
    """The length at which nets were trained."""
    return int(levels(results, "length", {"net": "plain"})[0])


def title_of_errors(results: pd.DataFrame) -> str:
    """The rank correlation of trace and error over nets trained without the penalty."""
    where = {"net": "trained without penalty"}
    found = values_of(results, where, "rank_correlation_median_n20")
    half = t_sems(len(found)) * found.sem()
    return f"No penalty: rank corr. {decimal(found.mean())} ± {decimal(half)}"


def _draw_errors(ax: Axes, results: pd.DataFrame) -> None:
    length = trained_length(results)
    at = select(results, {"length": length})
    for net, (colour, _) in TRAINED.items():
        rows = select(at, {"net": net})
        table = rows.pivot_table(index=["width", "seed"], columns="metric", values="value")
        ax.plot(
            table["trace_ratio"],
            np.maximum(table["median_n20"], FLOOR),
            "o",
            color=colour,
            markersize=4,
            alpha=0.7,
            markeredgewidth=0,
        )
    look: dict[str, Any] = {"markeredgecolor": "white", "markersize": 9, "zorder": 4}
    for net, (colour, marker, _) in SOLUTIONS.items():
        trace, error = (mean_of(at, {"net": net}, m) for m in ("trace_ratio", "median_n20"))
        ax.plot(trace, max(error, FLOOR), marker, color=colour, **look)
    trace, error = (
        mean_of(at, {"net": "kinked neurons"}, m) for m in ("nearby_ratio", "median_n20")
    )
    colour, marker, _ = NEARBY
    ax.plot(trace, error, marker, color=colour, markersize=7, zorder=4)
    ax.axvline(1, color=THEORY_COLOUR, linestyle="--", linewidth=1.2, zorder=1)
    ax.set(xscale="log", yscale="log", xlabel=rf"trace / bound, $T$ = {length}")
    ax.set_xticks(TRACE_TICKS[:-1], [f"{tick}" for tick in TRACE_TICKS[:-1]])
    ax.minorticks_off()
    ax.set_ylabel(f"squared error from 20 samples\n(variance of the balance: {length})")


def _draw_traces(ax: Axes, results: pd.DataFrame) -> None:
    balance, kinked, random = SOLUTIONS
    for net, metric, aside, (colour, marker, _) in (  # aside: equal traces stay visible
        (balance, "trace_ratio", -0.15, SOLUTIONS[balance]),
        (kinked, "trace_ratio", 0.15, SOLUTIONS[kinked]),
        (kinked, "nearby_ratio", 0, NEARBY),
        (random, "rescaled_ratio", 0, SOLUTIONS[random]),
    ):
        means = select(results, {"net": net}, metric).groupby("length")["value"].mean()
        ax.plot(
            means.index + aside,
            means * 4 / np.sqrt(means.index),
            marker,
            color=colour,
            markersize=8,
            markeredgecolor=colour if marker == "x" else "white",
        )
    lengths = levels(results, "length")
    at = np.linspace(lengths[0], lengths[-1], 50)
    ax.plot(at, 4 / np.sqrt(at), color=THEORY_COLOUR, linestyle="--", zorder=1)
    ax.set(yscale="log", xlabel="length T", ylabel="trace of the Hessian")
    ax.set_yticks(TRACE_TICKS, [f"{tick}" for tick in TRACE_TICKS])
    ax.minorticks_off()
    ax.set_xticks(lengths)


def _draw_samples(ax: Axes, curves: pd.DataFrame) -> None:
    length = max(levels(curves, "length"))
    for net, (colour, marker, _) in (SOLUTIONS | {"tokens": TOKENS}).items():
        rows = select(curves, {"net": net, "length": length}, "share_exact")
        means = rows.groupby("step")["value"].mean()
        ax.plot(
            means.index,
            means,
            marker,
            color=colour,
            markersize=6,
            linestyle=":",
            linewidth=0.8,
        )
    most = curves["step"].max()
    samples = np.arange(2, most + 1)
    exact = [exact_probability(length, n) for n in samples]
    ax.plot(samples, exact, color=THEORY_COLOUR, linestyle="--", zorder=1)
    ax.set(xlim=(0, most + 1), ylim=(-0.04, 1.04), xlabel=f"downstream samples n, T = {length}")
    ax.set_ylabel("share of samples without error")


def _handles() -> list[Line2D]:
    balance, kinked, random = SOLUTIONS.values()
    learnt = [(colour, "o", label) for colour, label in TRAINED.values()]
    theory = "bound 4 / √T; in (c): 1 − 2 ((1 + p)/2)$^n$ + p$^n$"
    return [
        *(
            key(label, colour, marker)
            for colour, marker, label in (balance, kinked, NEARBY, random, TOKENS, *learnt)
        ),
        key(theory, THEORY_COLOUR, style="--"),
    ]
