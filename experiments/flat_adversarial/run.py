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
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

WEIGHTS = (0.0, 0.1, 1.0)  # λ, nats; 0 is ordinary pre-training
PILOT_WEIGHTS = {"pcfg": (0.0, 0.01, 0.03, 0.1), "hmm": (0.0, 0.01, 0.03, 0.1, 1.0)}
PILOT_SEED = 100  # of a world that is not reported
METRICS = [
    *("kl", "kl_sem", "entropy", *TRACES, "hessian_trace", "weight_norm"),
    *ACCURACIES,
    *(f"{accuracy}_{rate}" for accuracy in ACCURACIES for rate in ("majority", "bayes", "lookup")),
]
CURVES = ["kl", *ACCURACIES, "fisher_trace"]
NUM_UPDATES = 6_000
EXAMPLES = 128  # labelled sentences in an update
RATE = 3e-3
WARM_UP = 360
EVALUATIONS = {"smoke": 2, "pilot": 2, "cpu": 2, "paper": 10}
SEEDS = {"smoke": 2, "pilot": 1, "cpu": 5, "paper": 5}


def studies(scale: str) -> list[Study]:
    """Every weight in both worlds; the first label of a world is the attacked one."""
    if scale == "pilot":
        return [_study(scale, world, weight) for world in WORLDS for weight in PILOT_WEIGHTS[world]]
    weights = WEIGHTS[:2] if scale == "smoke" else WEIGHTS
    return [_study(scale, world, weight) for world in WORLDS for weight in weights]


def config_of(scale: str, world: str, weight: float) -> build.Config:
    """The training of one weight, in the world and by the network of ``flat_time``."""
    size = "cpu" if scale == "pilot" else scale
    config, labels = saturable_config(size, world), LABELS[size][world]
    config.task.downstream = labels
    if weight:
        config.adversary = common.adversary(labels[0], weight=weight)
        if size == "cpu":
            config.adversary.num_examples = EXAMPLES
    config.train.seeds = SEEDS[scale]
    if scale == "pilot":
        config.seed = config.task.world.seed = PILOT_SEED
    if size == "cpu":
        config.optim.update(peak_lr=RATE, warmup_steps=WARM_UP)
        config.train.num_updates = NUM_UPDATES
    config.train.eval_every = config.train.num_updates // EVALUATIONS[scale]
    config.train.checkpoint_every = config.train.eval_every
    config.train.probes = ("true_conditional", "curvature", "downstream")
    return config


def _study(scale: str, world: str, weight: float) -> Study:
    labels = LABELS["cpu" if scale == "pilot" else scale][world]
    settings = {"world": world, "weight": weight}
    return Study(config_of(scale, world, weight), settings, names=names_of(labels))


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES)
