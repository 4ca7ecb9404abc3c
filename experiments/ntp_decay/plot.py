"""The gap to the best decoder in a ball, and the lead of a method's own norm, by decay."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_note, add_titles
from experiments.harness.figures import Line, decimal, draw_dots, figure_answering, stated, t_note
from experiments.harness.tables import values_of
from experiments.ntp_decay.claims import GAP, LEAD
from experiments.ntp_decay.run import ARMS, LARGE, METHODS, SMALL, setting
from experiments.ntp_optimizers.plot import METHODS as NAMES


def plot(results: pd.DataFrame) -> Figure:
    """Left: the gap, with decay. Right: the lead, with and without decay."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(10.0, 5.0))
    draw_dots(axes[0, 0], results, GAP, rows(("1/t", SMALL), ("1/t", LARGE)))
    axes[0, 0].set(xscale="log", xlabel="nats, at most")
    draw_dots(axes[0, 1], results, LEAD, rows(*(arm for arm in ARMS if arm[1] != SMALL)))
    axes[0, 1].axvline(0.0, color="black", linewidth=0.8)
    axes[0, 1].set_xlabel("others  ←  leans to  →  own norm")
    add_titles(axes.ravel(), ["loss above the ball's best", "lead of the own norm"])
    note = (
        "radius over the norm of the max-margin matrix of margin 1\n"
        "(b) margin ratio in the own norm less the larger of the others"
    )
    add_note(figure, f"{note}; {t_note(results, 'problems')}")
    return figure


def rows(*arms: tuple[str, int]) -> list[Line]:
    """Every method with the steps and the ball of each arm."""
    found = []
    for method in METHODS:
        name, colour = NAMES[method]
        for steps, ball in arms:
            label = f"{name}, {steps.replace('/', ' / ')}" + (f", radius {ball}" if ball else "")
            found.append(Line(label, setting(method, steps, ball), colour))
    return found


def answer(results: pd.DataFrame) -> str:
    """The largest mean gap under short steps, and leads of Adam by decay and steps."""
    gaps = [values_of(results, setting(m, "1/t", SMALL), GAP).mean() for m in METHODS]

    def lead(steps: str, ball: int) -> str:
        return stated(results, setting("adam", steps, ball), LEAD, signed=True)

    return (
        f"With decay none ends more than {decimal(max(gaps), 6)} nats above a small ball's best, "
        "on average;\n"
        f"in a large one the lead of Adam's own norm goes from {lead('1/√t', 0)} to "
        f"{lead('1/√t', LARGE)} (steps ~ 1 / √t),\n"
        f"{lead('1/t', 0)} to {lead('1/t', LARGE)} (~ 1 / t)"
    )
