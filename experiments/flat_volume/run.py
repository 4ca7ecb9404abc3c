"""Four methods of el_methods, as tuned there; the learning coefficient of each final network."""

from functools import partial

from experiments.el_methods.run import study_of
from experiments.flat_volume.probe import CHAINS
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import run_sweep

PROBE = "experiments.flat_volume.probe"  # registers volume
METHODS = ("cross-entropy", "E1", "Muon", "weight decay")
METRICS = [*CHAINS, "logit_scale", "swap_copies", "test_precise_hard_accuracy"]
METRICS += ["train_hard_accuracy"]
CURVES = ["swap_copies"]
SEEDS, FIRST_SEED = 8, 208  # data sets that no experiment has trained on
# further networks of cross-entropy, several on a data set, on data sets of their own
NETWORKS, SETS, FIRST_SET = 5, 4, 216


def studies(scale: str) -> list[Study]:
    """A study for each method."""
    if scale == "smoke":
        return [_study(name, smoke=True) for name in METHODS[:2]]
    chosen = [_study(name) for name in METHODS]
    return on_pilot_data(chosen) if scale == "pilot" else [*chosen, _several()]


def _several() -> Study:
    study = _study(METHODS[0])
    study.config.seed = study.config.task.data_seed = FIRST_SET
    study.config.train.seeds = SETS
    return Study(study.config, study.factors, networks=NETWORKS)


def _study(name: str, *, smoke: bool = False) -> Study:
    study = study_of(name, smoke=smoke)
    study.config.imports = (PROBE,)
    study.config.train.probes = ("swap", "volume")
    if not smoke:
        study.config.seed = study.config.task.data_seed = FIRST_SEED
        study.config.train.update(eval_every=study.config.train.num_updates, seeds=SEEDS)
    return study


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES)
