"""Masked language models trained on after their loss is saturated, with probes on the way."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from configs import common
from configs.flatness.masked import get_config
from el_jax import build
from el_jax.process.imports import import_all
from el_jax.training.sinks import History
from el_jax.types import Row
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

WORLDS = ("pcfg", "hmm")
# the labels of each world: the symbol above the first words, the state at a word
SHORT = {"pcfg": ("prefix_2", "prefix_4"), "hmm": ("state_3", "state_5")}  # sentences of 8
LONG = {"pcfg": ("prefix_2", "prefix_4"), "hmm": ("state_6", "state_10")}  # the paper's
LABELS = {"smoke": SHORT, "cpu": SHORT, "paper": LONG}
ACCURACIES = ("accuracy_1", "accuracy_2")  # of the two labels
TRACES = ("fisher_trace", "scale_free_trace")
CURVES = ["kl", *ACCURACIES, *TRACES]
METRICS = [
    *CURVES,
    *("hessian_trace", "weight_norm", "entropy"),
    *(f"{metric}_sem" for metric in CURVES),
    *(f"{accuracy}_{rate}" for accuracy in ACCURACIES for rate in ("majority", "bayes")),
    *(f"{metric}_since_saturation" for metric in (*ACCURACIES, *TRACES)),
    *("kl_at_saturation", "kl_moved", "saturated_step"),
]
OPTIMIZER = "experiments.flat_time.optimizer"  # registers adamw_then
PEAK = {"smoke": 3e-3, "cpu": 3e-3, "paper": 1e-3}  # rate of AdamW until saturation
AFTERWARDS = {  # once the loss is saturated: rates
    "adamw": {"adamw_after": 1e-3},
    "sgd": {"sgd_after": 0.1},
    "slow_sgd": {"sgd_after": 0.02},
}
LAST = 0.1  # share of the updates in which the rate falls to 0, so that no noise is measured
EVALUATIONS = {"smoke": 4, "cpu": 8, "paper": 30}
SATURATED_AT = {"smoke": 2, "cpu": 4, "paper": 15}  # evaluations of the first phase
NUM_UPDATES = {"cpu": 12_000, "paper": 60_000}
WARM_UP = 360
SEEDS = {"smoke": 2, "cpu": 5, "paper": 5}
SENTENCES = 128  # an update: the noise that the theory speaks of falls as their number grows
# A grammar and networks that come within .01 nats of the truth in 6,000 updates; the paper has the
# LSTM on hidden Markov models, too.
EASY_GRAMMAR = {"symbols_per_level": 3, "vocab_size": 12, "words_per_symbol": 4}
LEARNERS = {"pcfg": "budget_bert", "hmm": "bidirectional_lstm"}


def studies(scale: str) -> list[Study]:
    """Both worlds with AdamW and SGD after saturation."""
    return [
        Study(
            config_of(scale, world, afterwards),
            {"world": world, "afterwards": afterwards},
            names=names_of(labels),
            extras=partial(numbers, saturated=SATURATED_AT[scale] - 1),
        )
        for world, labels in LABELS[scale].items()
        for afterwards in AFTERWARDS
    ]


def names_of(labels: Sequence[str]) -> dict[str, str]:
    """The names in tables of the metrics of a world's labels."""
    return {f"downstream_{label}": name for label, name in zip(labels, ACCURACIES, strict=True)}


def saturable_config(scale: str, world: str) -> build.Config:
    """A world and a network that learns it: at the cpu scale to within .01 nats of the truth."""
    if scale == "paper":
        return get_config(f"world={world},scale=paper")
    size = "smoke" if scale == "smoke" else "scale=small"
    config = get_config(f"world={world},model={LEARNERS[world]},{size}")
    if world == "pcfg":
        config.model.init = "width"
    if scale == "cpu":
        config.task.sentences_per_update = SENTENCES
        if world == "pcfg":
            config.task.world.update(EASY_GRAMMAR)
    return config


def config_of(scale: str, world: str, afterwards: str) -> build.Config:
    """The training of one setting."""
    import_all((OPTIMIZER,))
    config = saturable_config(scale, world)
    config.imports = (OPTIMIZER,)
    config.task.downstream = LABELS[scale][world]
    train, num_updates = config.train, NUM_UPDATES.get(scale, config.train.num_updates)
    train.update(num_updates=num_updates, seeds=SEEDS[scale])
    train.eval_every = train.checkpoint_every = num_updates // EVALUATIONS[scale]
    train.probes = ("true_conditional", "curvature", "downstream")
    config.optim = common.optim(
        "adamw_then",
        schedule="wsd",
        peak_lr=PEAK[scale],
        decay_fraction=LAST,
        warmup_steps=min(WARM_UP, num_updates // 10),
        saturate=SATURATED_AT[scale] * train.eval_every,
        **{key: rate / PEAK[scale] for key, rate in AFTERWARDS[afterwards].items()},
    )
    config.sweep = common.sweep(config)
    return config


def numbers(history: History, saturated: int) -> Row:
    """Changes from the look at which the first phase ends to the last one.

    Args:
        history: of a training.
        saturated: the place of that look among all.

    Returns:
        ``[R]`` by name.
    """
    steps, kl = history.curve("kl")
    found: Row = {
        "saturated_step": np.full(kl.shape[1], float(steps[saturated])),
        "kl_at_saturation": kl[saturated],
        "kl_moved": np.abs(kl[-1] - kl[saturated]),
    }
    for metric in (*ACCURACIES, *TRACES):
        course = history.curve(metric)[1]
        # that of a trace is of its logarithm
        course = np.log(course) if metric in TRACES else course
        found[f"{metric}_since_saturation"] = course[-1] - course[saturated]
    return found


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES)
