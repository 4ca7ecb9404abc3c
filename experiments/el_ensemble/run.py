"""Eight networks on the strings of each data set, with and without heavy weight decay."""

from functools import partial

from experiments.el_methods.run import study_of
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

PROBE = "experiments.el_ensemble.probe"  # registers ensemble
METRICS = [
    *("ensemble_copies", "gain_copies", "ensemble_hard_accuracy", "ensemble_hard_ce"),
    "train_hard_accuracy",
]
CURVES = ["ensemble_copies"]
METHODS = ("cross-entropy", "weight decay")  # of el_methods, at its rates and decay
NETWORKS = 8  # on a data set
SEEDS, FIRST_SEED = 8, 200  # data sets that no experiment has trained on


def studies(scale: str) -> list[Study]:
    """A study for each method."""
    return [_study(name, smoke=scale == "smoke") for name in METHODS]


def _study(name: str, *, smoke: bool) -> Study:
    config = study_of(name, smoke=smoke).config
    config.seed = config.task.data_seed = FIRST_SEED
    config.imports = (PROBE,)
    config.train.probes = ("stratification", "ensemble")
    if not smoke:
        config.train.update(eval_every=config.train.num_updates, seeds=SEEDS)
    return Study(config, {"method": name}, networks=2 if smoke else NETWORKS)


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES)
