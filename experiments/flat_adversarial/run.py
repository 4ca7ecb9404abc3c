"""Masked language models trained for their loss alone, and against a downstream label."""

from functools import partial

from configs import common
from configs.flatness.masked import get_config
from el_jax import build
from experiments.flat_time.run import ACCURACIES, LABELS, TRACES, WORLDS, names_of
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

WEIGHTS = (0.0, 0.01, 0.03)  # λ, nats; 0 is ordinary pre-training
METRICS = [
    *("kl", "kl_sem", "entropy", *TRACES, "hessian_trace", "weight_norm"),
    *ACCURACIES,
    *(f"{accuracy}_{rate}" for accuracy in ACCURACIES for rate in ("majority", "bayes", "lookup")),
]
CURVES = ["kl", *ACCURACIES, "fisher_trace"]
NUM_UPDATES = 4_000
SENTENCES, EXAMPLES = 64, 128  # an update of the cpu scale: pre-trained on, and labelled
RATE = 3e-3
WARM_UP = 360
EVALUATIONS = {"smoke": 2, "cpu": 2, "paper": 10}
SEEDS = {"smoke": 2, "cpu": 5, "paper": 5}


def studies(scale: str) -> list[Study]:
    """Every weight in both worlds; the first label of a world is the attacked one."""
    return [
        Study(
            config_of(scale, world, weight),
            {"world": world, "weight": weight},
            names=names_of(LABELS[scale][world]),
        )
        for world in WORLDS
        for weight in (WEIGHTS[:2] if scale == "smoke" else WEIGHTS)
    ]


def config_of(scale: str, world: str, weight: float) -> build.Config:
    """The training of one weight."""
    size = {"smoke": "smoke", "cpu": "scale=small", "paper": "scale=paper"}[scale]
    config, labels = get_config(f"world={world},{size}"), LABELS[scale][world]
    config.task.downstream = labels
    if weight:
        config.adversary = common.adversary(labels[0], weight=weight)
        if scale == "cpu":
            config.adversary.num_examples = EXAMPLES
    config.train.seeds = SEEDS[scale]
    if scale == "cpu":
        config.optim.update(peak_lr=RATE, warmup_steps=WARM_UP)
        config.task.sentences_per_update = SENTENCES
        config.train.num_updates = NUM_UPDATES
    config.train.eval_every = config.train.num_updates // EVALUATIONS[scale]
    config.train.checkpoint_every = config.train.eval_every
    config.train.probes = ("true_conditional", "curvature", "downstream")
    return config


run = partial(run_sweep, "flat_adversarial", studies=studies, metrics=METRICS, curves=CURVES)
