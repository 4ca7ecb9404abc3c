"""Minimisers over growing balls, compared with the max-margin matrix and the finite part."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from el_jax.linear_ntp import fit_rate, max_margin, random_problem, regularization_path
from experiments.harness.seeds import Measured, run_seeds

SHAPE = {"num_contexts": 20, "dim": 24, "vocab_size": 8, "support_size": 3}
FIRST = 300  # problem of seed 0; some below were seen before the claims were written
NUM_SEEDS = {"smoke": 2, "cpu": 8}
LARGEST = {"smoke": 8, "cpu": 20}  # radius over ‖W_mm‖; float64 resolves λ up to some 20
EVERY = 4  # one in so many radii is in results.csv
TOLERANCE = 1e-5  # on the relative error of W


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """The path of one problem at radii 1, 2, ... times ‖W_mm‖: curves, levels and rates."""
    problem = random_problem(**SHAPE, seed=FIRST + seed)
    margin, radii = max_margin(problem), np.arange(1, LARGEST[scale] + 1)
    scaled, w_mm = radii / margin.margin, {"frobenius": margin.w}
    path = regularization_path(problem, radius=scaled, w_mm=w_mm, tolerance=TOLERANCE)
    cosine, finite_error = path.metrics["cosine_frobenius"], path.metrics["finite_error"]
    curves = {
        "cosine": cosine,
        "angle": 1 - cosine,
        "finite_error": finite_error,
        "log10_finite_error": np.log10(finite_error),
        "excess_loss": path.metrics["excess_loss"],
        "margin_ratio": path.metrics["margin_ratio_frobenius"],
        "ridge": path.ridge,
        "stationarity": path.stationarity,
    }
    low, high = radii[-1] / 2, float(radii[-1])
    finite = fit_rate(radii.astype(float), np.log(finite_error), window=(low, high)).slope
    window = float(np.log(low)), float(np.log(high))
    direction = fit_rate(np.log(radii), np.log(1 - cosine), window=window).slope
    rates = {"direction_slope": direction, "finite_rate": finite}
    rates |= {"finite_rate_error": abs(finite + 1), "worst_stationarity": path.stationarity.max()}
    yield Measured({}, rates, radii, curves)
    for place in range(EVERY - 1, len(radii), EVERY):
        yield Measured({"radius": radii[place]}, {m: values[place] for m, values in curves.items()})


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)
