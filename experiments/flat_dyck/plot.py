"""Trace against error of trained nets, trace against length, and transfer from few samples."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import (
    THEORY_COLOUR,
    add_legend,
    add_question,
    add_titles,
    new_figure,
)
from experiments.flat_dyck.claims import TRAININGS, fitting
from experiments.flat_dyck.transfer import exact_probability
from experiments.harness.figures import count, decimal, mean_of, t_sems
from experiments.harness.tables import read_curves, read_results, values_of, with_parts

SOLUTIONS = {  # colour, marker and label of what is constructed
    "balance neurons": ("#009e73", "*", "solution 1: two neurons read the balance"),
    "kinked neurons": ("#d55e00", "X", "kinked neurons, for relu'(0) = 0"),
    "nearby": ("#d55e00", "x", "kinked neurons, just off the kinks"),
    "random features": ("#7a5195", "s", "solution 2: random features"),
}
TRAINED = {  # colour and label of what is trained
    "plain": ("#000000", "trained"),
    "label noise": ("#56b4e9", "trained with label noise"),
    "penalty": ("#e69f00", "trained with a penalty on the trace"),
}
NETS = r"(?P<name>.*), T=(?P<T>\d+)(?:, m=\d+)?"
FLOOR = 1e-9  # errors from here down are drawn at it
ASIDE = {"balance neurons": -0.15, "kinked neurons": 0.15}  # equal traces stay visible
TRACE_TICKS = (1, 2, 5, 10, 20)
TITLES = (
    "Two kinds attain the bound",
    "Solution 1 needs few samples",
)


def plot(out: Path) -> Figure:
    """Left: trace and error of every net of the trained length. Middle: traces. Right: samples."""
    results = read_results(out / "results.csv")
    curves = with_parts(read_curves(out / "curves.csv"), NETS)
    nets = with_parts(fitting(results), NETS)
    figure, axes = new_figure(1, 3, size=(9.6, 5.0))
    add_question(figure, answer(results))
    _draw_errors(axes[0, 0], nets)
    _draw_traces(axes[0, 1], nets)
    _draw_samples(axes[0, 2], curves)
    add_titles(axes.ravel(), (title_of_errors(results), *TITLES))
    trained = results[results["setting"] == "trained"]
    note = (
        "T: brackets of a sentence, p: probability of balance 0\n"
        f"(a) every net that fits, {count(trained)} and all widths; errors below 1e-9 are drawn "
        "there; ±: 95 % t interval\n(b) means; of random features the least over rescaled neurons"
    )
    add_legend(figure, _handles(), num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """Errors with and without the penalty, and of the kinked neurons; all from 20 samples."""
    length = trained_length(results)
    penalised = decimal(mean_of(results, "penalty, every m", "median_n20"), 4)
    plain = decimal(mean_of(results, "plain, every m", "median_n20"))
    kinked = mean_of(results, f"kinked neurons, T={length}", "median_n20")
    nearby = mean_of(results, f"kinked neurons, T={length}", "nearby_ratio")
    return (
        f"A penalty on the trace leads to nets that transfer (error {penalised}; without {plain})."
        f"\nKinked neurons are as flat and do not (error {decimal(kinked, 3)}), but just off the "
        f"kinks their trace is {nearby:.2f} of the bound"
    )


def trained_length(results: pd.DataFrame) -> int:
    """The length at which nets were trained."""
    return int(with_parts(results, r"plain, T=(?P<T>\d+), m=\d+")["T"].iloc[0])


def title_of_errors(results: pd.DataFrame) -> str:
    """The rank correlation of trace and error over nets trained without the penalty."""
    found = values_of(results, "trained without penalty", "rank_correlation_median_n20")
    half = t_sems(len(found)) * found.sem()
    return f"No penalty: rank corr. {decimal(found.mean())} ± {decimal(half)}"


def _draw_errors(ax: Axes, nets: pd.DataFrame) -> None:
    trained = nets[nets["name"].isin(TRAININGS)]
    length = trained["T"].iloc[0]
    for name, (colour, _) in TRAINED.items():
        table = _wide(trained[trained["name"] == name])
        ax.plot(table["trace_ratio"], np.maximum(table["median_n20"], FLOOR), "o", color=colour,
                markersize=4, alpha=0.7, markeredgewidth=0)  # fmt: skip
    at = nets[nets["T"] == length]
    for name, (colour, marker, _) in SOLUTIONS.items():
        if name == "nearby":
            continue
        means = at[at["name"] == name].groupby("metric")["value"].mean()
        ax.plot(means["trace_ratio"], max(means["median_n20"], FLOOR), marker, color=colour,
                markersize=9, markeredgecolor="white", zorder=4)  # fmt: skip
    means = at[at["name"] == "kinked neurons"].groupby("metric")["value"].mean()
    ax.plot(means["nearby_ratio"], means["median_n20"], "x", color=SOLUTIONS["nearby"][0],
            markersize=7, zorder=4)  # fmt: skip
    ax.axvline(1, color=THEORY_COLOUR, linestyle="--", linewidth=1.2, zorder=1)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(TRACE_TICKS[:-1], [f"{tick:g}" for tick in TRACE_TICKS[:-1]])
    ax.minorticks_off()
    ax.set_xlabel(rf"trace / bound, $T$ = {length}")
    ax.set_ylabel(f"squared error from 20 samples\n(variance of the balance: {length})")


def _wide(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a net, a column a metric."""
    return rows.pivot_table(index=["setting", "seed"], columns="metric", values="value")


def _draw_traces(ax: Axes, nets: pd.DataFrame) -> None:
    metrics = {
        "balance neurons": ("balance neurons", "trace_ratio"),
        "kinked neurons": ("kinked neurons", "trace_ratio"),
        "nearby": ("kinked neurons", "nearby_ratio"),
        "random features": ("random features", "rescaled_ratio"),
    }
    for key, (name, metric) in metrics.items():
        rows = nets[(nets["name"] == name) & (nets["metric"] == metric)]
        means = rows.groupby("T")["value"].mean()
        colour, marker, _ = SOLUTIONS[key]
        aside = ASIDE.get(key, 0)
        ax.plot(means.index + aside, means * 4 / np.sqrt(means.index), marker, color=colour,
                markersize=8, markeredgecolor=colour if marker == "x" else "white")  # fmt: skip
    lengths = np.linspace(nets["T"].min(), nets["T"].max(), 50)
    ax.plot(lengths, 4 / np.sqrt(lengths), color=THEORY_COLOUR, linestyle="--", zorder=1)
    ax.set_yscale("log")
    ax.set_yticks(TRACE_TICKS, [f"{tick:g}" for tick in TRACE_TICKS])
    ax.minorticks_off()
    ax.set_xticks(sorted(set(nets["T"])))
    ax.set_xlabel("length T")
    ax.set_ylabel("trace of the Hessian")


def _draw_samples(ax: Axes, curves: pd.DataFrame) -> None:
    length = curves["T"].max()
    rows = curves[(curves["T"] == length) & (curves["metric"] == "share_exact")]
    for name, (colour, marker) in {
        "balance neurons": SOLUTIONS["balance neurons"][:2],
        "kinked neurons": SOLUTIONS["kinked neurons"][:2],
        "random features": SOLUTIONS["random features"][:2],
        "tokens": ("#8c8c8c", "D"),
    }.items():
        means = rows[rows["name"] == name].groupby("step")["value"].mean()
        ax.plot(means.index, means, marker, color=colour, markersize=6, linestyle=":",
                linewidth=0.8)  # fmt: skip
    samples = np.arange(2, rows["step"].max() + 1)
    ax.plot(samples, [exact_probability(length, n) for n in samples], color=THEORY_COLOUR,
            linestyle="--", zorder=1)  # fmt: skip
    ax.set_ylim(-0.04, 1.04)
    ax.set_xlim(0, rows["step"].max() + 1)
    ax.set_xlabel(f"downstream samples n, T = {length}")
    ax.set_ylabel("share of samples without error")


def _handles() -> list[Line2D]:
    made = [
        Line2D([], [], color=colour, marker=marker, linestyle="", label=label)
        for colour, marker, label in SOLUTIONS.values()
    ]
    made.append(Line2D([], [], color="#8c8c8c", marker="D", linestyle="", label="the tokens"))
    learnt = [
        Line2D([], [], color=colour, marker="o", linestyle="", label=label)
        for colour, label in TRAINED.values()
    ]
    theory = "bound 4 / √T; in (c): 1 − 2 ((1 + p)/2)$^n$ + p$^n$"
    return [
        *made,
        *learnt,
        Line2D([], [], color=THEORY_COLOUR, linestyle="--", label=theory),
    ]
