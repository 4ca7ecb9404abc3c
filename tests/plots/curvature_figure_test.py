"""Curvature is drawn whole, also where it is negative."""

from el_jax.plots import plot_curvature
from el_jax.types import Estimate


def test_a_negative_trace_is_inside_the_axis():
    traces = {"step 1": {"Fisher": Estimate(5.0, 0.5), "Hessian": Estimate(-3.0, 0.5)}}
    left, right = plot_curvature({}, traces, "Where?").axes[0].get_xlim()
    assert left < -3.5 < 5.5 < right
