"""Two texts under cross-entropy and E1, each without and with warm-up, and under two controls."""

import itertools
import os
from functools import partial

from configs.el.text_copy import get_config
from el_jax import build
from el_jax.process.errors import ConfigError
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

GROUPS = ("", "easy_", "hard_")
METRICS = [
    *(f"test_{group}exact_match" for group in GROUPS),
    *(f"train_{group}exact_match" for group in GROUPS),
    *(f"{split}_{group}_ce" for split in ("train", "test") for group in ("easy", "hard")),
]
CURVES = [*METRICS[:3], "train_easy_ce", "train_hard_ce"]
FOLDER = "EL_JAX_GPT2"  # environment variable: a Hugging Face folder of GPT-2 for the paper scale
FROM_SCRATCH = "smoke", "cpu"
SOURCES = ("king_james", "shakespeare")
LAM, ONE_EQUILIBRIUM = 1.0, 0.5  # the paper's λ; at .5 a token has one equilibrium margin, not two
# training sentences; at the cpu scale by the README's rule, on another seed's data
NUM_TRAIN = {"smoke": 64, "cpu": 128, "pretrained": 160, "paper": 9_984}
NUM_MANY = 1_024  # the other settings have fewer
WARM_UP = {"smoke": 10, "cpu": 80, "pretrained": 5, "paper": 156}  # updates
SEEDS = {"smoke": 2, "cpu": 10, "pretrained": 3, "paper": 5}


def studies(scale: str) -> list[Study]:
    """Both losses without and with warm-up on each text; the controls under the paper's settings.

    A small network trained from scratch also gets both losses on more sentences, and E1 at a λ with
    one equilibrium. The pretrained network, whose updates take seconds, gets only the two settings
    of Table 2.

    Raises:
        ConfigError: the paper scale has no model to fine-tune.
    """
    chosen = []
    for source, loss in itertools.product(SOURCES, ("cross_entropy", "e1")):
        argument = f"loss={loss},source={source}"
        if scale == "pretrained":
            chosen.append(_study(config_of(scale, argument)))
            continue
        plain, many = (config_of(scale, argument) for _ in range(2))
        for config in (plain, many):
            config.sweep.optim.warmup_steps = (0, WARM_UP[scale])
        chosen.append(_study(plain))
        if scale in FROM_SCRATCH:
            many.task.num_train = NUM_MANY
            chosen.append(_study(many))
            if loss == "e1":
                plain.sweep.loss.lam = (LAM, ONE_EQUILIBRIUM)
        for label in ("permuted", "absent") if loss == "cross_entropy" else ("permuted",):
            control = config_of(scale, f"{argument},label={label}")
            chosen.append(_study(control, {"label": label}))
    return chosen


def _study(config: build.Config, control: dict[str, str] | None = None) -> Study:
    return Study(
        config, {key: config.task[key] for key in ("source", "num_train")} | (control or {})
    )


def config_of(scale: str, argument: str) -> build.Config:
    """The training of one setting: E1 with warm-up, cross-entropy without, as in the paper."""
    more = {"smoke": "smoke", "cpu": "scale=small", "pretrained": "pretrained=smollm2"}
    if scale == "paper" and not os.environ.get(FOLDER):
        raise ConfigError(f"{FOLDER}: must name a Hugging Face folder of GPT-2 for the paper scale")
    paper = f"scale=paper,pretrained={os.environ.get(FOLDER)}"
    config = get_config(f"{argument},{more.get(scale, paper)}")
    config.train.seeds = SEEDS[scale]
    config.task.num_train = NUM_TRAIN[scale]
    if config.optim.warmup_steps:
        config.optim.warmup_steps = WARM_UP[scale]
    if scale == "pretrained":
        config.task.sentences_per_update = 8
        config.train.update(num_updates=20, log_every=10, eval_every=20, checkpoint_every=20)
        config.eval = {"test": 200}
    return config


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES)
