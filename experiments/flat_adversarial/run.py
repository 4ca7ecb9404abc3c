"""Masked language models trained for their loss alone, and against a downstream label."""

from functools import partial

from configs import common
from el_jax import build
from experiments.flat_time.run import (
    ACCURACIES,
    LABELS,
    TRACES,
    WORLDS,
    names_of,
    saturable_config,
)
from experiments.harness.studies import PILOT_SEED, Study
from experiments.harness.sweep import run_sweep

WEIGHTS = (0.0, 0.01, 0.03)  # λ, nats; 0 is ordinary pre-training
PILOT_WEIGHTS = (*WEIGHTS, 0.1)
METRICS = [
    *("kl", "kl_sem", "entropy", *TRACES, "hessian_trace", "weight_norm"),
    *ACCURACIES,
    *(f"{accuracy}_{rate}" for accuracy in ACCURACIES for rate in ("majority", "bayes", "lookup")),
]
CURVES = ["kl", *ACCURACIES, "fisher_trace"]
NUM_UPDATES = 6_000
EXAMPLES = 128  # labelled sentences in an update of the cpu scale
RATE = 3e-3
WARM_UP = 360
EVALUATIONS = {"smoke": 2, "cpu": 2, "paper": 10}
SEEDS = {"smoke": 2, "cpu": 6, "paper": 5}


def studies(scale: str) -> list[Study]:
    """Every weight in both worlds; the first label of a world is the attacked one."""
    if scale == "pilot":
        found = [_study("cpu", world, weight) for world in WORLDS for weight in PILOT_WEIGHTS]
        for study in found:
            study.config.train.seeds = 1
            study.config.seed = study.config.task.world.seed = PILOT_SEED
        return found
    weights = WEIGHTS[:2] if scale == "smoke" else WEIGHTS
    return [_study(scale, world, weight) for world in WORLDS for weight in weights]


def _study(scale: str, world: str, weight: float) -> Study:
    config, factors = config_of(scale, world, weight), {"world": world, "weight": weight}
    return Study(config, factors, names=names_of(LABELS[scale][world]))


def config_of(scale: str, world: str, weight: float) -> build.Config:
    """The training of one weight."""
    config, labels = saturable_config(scale, world), LABELS[scale][world]
    config.task.downstream = labels
    if weight:
        config.adversary = common.adversary(labels[0], weight=weight)
        if scale == "cpu":
            config.adversary.num_examples = EXAMPLES
    config.train.seeds = SEEDS[scale]
    if scale == "cpu":
        config.optim.update(peak_lr=RATE, warmup_steps=WARM_UP)
        config.train.num_updates = NUM_UPDATES
    config.train.eval_every = config.train.num_updates // EVALUATIONS[scale]
    config.train.checkpoint_every = config.train.eval_every
    config.train.probes = ("true_conditional", "curvature", "downstream")
    return config


run = partial(run_sweep, "flat_adversarial", studies=studies, metrics=METRICS, curves=CURVES)
