"""Eight of el_methods' methods, evaluated every 100 updates: compared at equal fit."""

from functools import partial

import numpy as np

from el_jax.probes.stratification import FITTED_ACCURACY
from el_jax.training.sinks import History
from el_jax.types import Row
from experiments.el_methods.run import study_of
from experiments.harness.studies import Study
from experiments.harness.sweep import fitting, run_sweep

METHOD_NAMES = ("cross-entropy", "E1", "E2", "E3", "weight decay", "Muon", "Signum", "Lion")
MECHANISM = ("swap_copies", "swap_undoes_shift")
METRICS = [
    *(f"{s}_{group}_accuracy" for s in ("train", "test_precise") for group in ("easy", "hard")),
    *("fitted_step", "train_hard_ce", *MECHANISM),
    *(f"{metric}_{when}" for metric in MECHANISM for when in ("at_fit", "afterwards")),
]
CURVES = [*MECHANISM, "train_hard_accuracy"]
EVERY = 100


def at_fit(history: History) -> Row:
    """The mechanism at the first evaluation with all training strings right, and its later change.

    A run that never fits them all is taken at its last evaluation.
    """
    fits = history.curve("train_hard_accuracy")[1] >= FITTED_ACCURACY  # [looks, R]
    first = np.where(fits.any(0), fits.argmax(0), len(fits) - 1)
    found = fitting(history)
    for metric in MECHANISM:
        values = history.curve(metric)[1]
        found[f"{metric}_at_fit"] = values[first, np.arange(values.shape[1])]
        found[f"{metric}_afterwards"] = values[-1] - found[f"{metric}_at_fit"]
    return found


def studies(scale: str) -> list[Study]:
    """A study for each method."""
    if scale == "smoke":
        return [study_of(name, smoke=True) for name in ("cross-entropy", "weight decay")]
    chosen = [study_of(name) for name in METHOD_NAMES]
    for study in chosen:
        study.config.train.update(eval_every=EVERY, log_every=EVERY)
        study.config.eval.test = 200
    return chosen


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=at_fit)
