"""Methods of el_methods, and the answers of other last layers on their features."""

from functools import partial

import numpy as np

from el_jax.training.sinks import History
from el_jax.types import Row
from experiments.el_methods.run import study_of
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

PROBE = "experiments.el_last_layer.probe"  # registers last_layer
DECODERS = ("own", "max_margin", "least_squares", "fresh")
HARD, COPIES = "hard_accuracy", "copies"
# the differences that claims test
GAIN, BY_MARGIN, BY_SQUARES = "gain_by_fresh", "gain_by_margin", "gain_by_squares"
DIFFERENCES = {
    GAIN: (f"fresh_{HARD}", f"own_{HARD}"),
    BY_MARGIN: (f"max_margin_{COPIES}", f"own_{COPIES}"),
    BY_SQUARES: (f"least_squares_{COPIES}", f"max_margin_{COPIES}"),
}
METRICS = [
    *(f"{decoder}_{asked}" for asked in (HARD, COPIES) for decoder in DECODERS),
    *(*DIFFERENCES, "margin_share", "within_share", "train_hard_accuracy"),
]
CURVES = ["train_hard_accuracy"]
SEEDS, FIRST_SEED = 10, 70  # data sets that no experiment has trained on
LOW, UNTRAINED = "cross-entropy, low rate", "untrained"
METHODS = {  # each is a method of el_methods, at the rates given or at its own
    "cross-entropy": ("cross-entropy", ()),
    LOW: ("cross-entropy", (1.6e-3,)),
    "E1": ("E1", ()),
    "E2": ("E2", ()),
    "E3": ("E3", ()),
    "weight decay": ("weight decay", ()),
    "Muon": ("Muon", ()),
    UNTRAINED: ("cross-entropy", (1e-9,)),
}


def differences(history: History) -> Row:
    """The lead of one decoder over another at the end, ``[R]`` by name."""

    def last(metric: str) -> np.ndarray:
        return history.curve(metric)[1][-1]

    return {name: last(more) - last(less) for name, (more, less) in DIFFERENCES.items()}


def studies(scale: str) -> list[Study]:
    """A study for each method."""
    names = METHODS if scale == "cpu" else ("cross-entropy", UNTRAINED)
    return [_study(name, smoke=scale == "smoke") for name in names]


def _study(name: str, *, smoke: bool) -> Study:
    method, rates = METHODS[name]
    config = study_of(method, rates=rates, smoke=smoke).config
    config.seed = config.task.data_seed = FIRST_SEED
    config.imports = (PROBE,)
    config.train.probes = ("stratification", "last_layer")
    if not smoke:
        config.train.update(eval_every=config.train.num_updates, seeds=SEEDS)
    if name == UNTRAINED:  # except for one update at the lowest rate
        config.optim.warmup_steps = 0
        config.train.update(num_updates=1, log_every=1, eval_every=1, checkpoint_every=1)
    return Study(config, {"method": name})


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=differences)
