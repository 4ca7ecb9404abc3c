"""Figures from tables of numbers, shared by experiments and notebooks; knows no experiment."""

from el_jax.plots.curvature import plot_curvature
from el_jax.plots.curves import plot_curves, plot_median
from el_jax.plots.dots import plot_lines_vs, plot_seed_dots, spread
from el_jax.plots.linear_ntp import plot_geometry, plot_trajectory
from el_jax.plots.style import (
    CONDITION_COLOURS,
    EASY,
    HARD,
    LOSS_COLOURS,
    OPTIMIZER_COLOURS,
    THEORY_COLOUR,
    add_chance_line,
    add_legend,
    add_note,
    add_panel_legend,
    add_question,
    add_title,
    add_titles,
    colours_of,
    in_order,
    new_figure,
    save_figure,
)
from el_jax.plots.tables import Curve, CurveTable, SeedTable, SeedValues, look_up, mean_and_sem
from el_jax.plots.training import plot_training

__all__ = [
    "CONDITION_COLOURS",
    "EASY",
    "HARD",
    "LOSS_COLOURS",
    "OPTIMIZER_COLOURS",
    "THEORY_COLOUR",
    "Curve",
    "CurveTable",
    "SeedTable",
    "SeedValues",
    "add_chance_line",
    "add_legend",
    "add_note",
    "add_panel_legend",
    "add_question",
    "add_title",
    "add_titles",
    "colours_of",
    "in_order",
    "look_up",
    "mean_and_sem",
    "new_figure",
    "plot_curvature",
    "plot_curves",
    "plot_geometry",
    "plot_lines_vs",
    "plot_median",
    "plot_seed_dots",
    "plot_training",
    "plot_trajectory",
    "save_figure",
    "spread",
]
