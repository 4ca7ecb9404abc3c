"""Figures from arrays of numbers, shared by experiments and notebooks, independent of both."""

from el_jax.plots.arrays import Curve, mean_and_sem
from el_jax.plots.curvature import plot_curvature
from el_jax.plots.curves import plot_curve, plot_median
from el_jax.plots.dots import Group, plot_lines_vs, plot_seed_dots
from el_jax.plots.linear_ntp import plot_geometry, plot_trajectory
from el_jax.plots.style import (
    COLOURS,
    DASHED,
    SOLID,
    SPARE_COLOURS,
    THEORY_COLOUR,
    add_chance_line,
    add_legend,
    add_note,
    add_panel_legend,
    add_question,
    add_title,
    add_titles,
    new_figure,
    save_figure,
)
from el_jax.plots.training import plot_training
