"""Seven of el_methods' methods, stopped where their training cross-entropy reaches a level."""

from functools import partial

from experiments.el_methods.run import CURVES, METRICS, study_of
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import run_sweep

# E1 with the λ of el_copy_margin whose minimum, at 9 nats, has a cross-entropy of .0034
NUMBERS = {
    "cross-entropy": 0.0,
    "E1": 0.0157,
    "squentropy": 0.0,
    "weight decay": 3.0,
    "gradient noise": 1e-4,
    "Muon": 0.0,
    "Signum": 0.0,
}
LEVELS = (0.1, 0.01)  # nats, the mean over the 400 strings of an epoch
EPOCH = 50  # updates
SEEDS, FIRST_SEED = 24, 150  # of these, 162 to 173 are also those of el_easy_strings


def studies(scale: str) -> list[Study]:
    """A study for each method and level."""
    if scale == "smoke":
        return [_study(name, LEVELS[1], smoke=True) for name in ("cross-entropy", "weight decay")]
    chosen = [_study(name, level) for level in LEVELS for name in NUMBERS]
    return on_pilot_data(chosen) if scale == "pilot" else chosen


def _study(name: str, level: float, *, smoke: bool = False) -> Study:
    """The runs of a method that stop at a level."""
    study = study_of(name, (NUMBERS[name],) if NUMBERS[name] else (), smoke=smoke)
    study.config.train.stop_at_ce = level
    if not smoke:
        study.config.seed = study.config.task.data_seed = FIRST_SEED
        study.config.train.update(seeds=SEEDS, log_every=EPOCH)
    return Study(study.config, {**study.factors, "stop_at_ce": level})


METRICS = [*(m for m in METRICS if m != "fitted_step"), "train_ce", "reached_step"]
run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES)
