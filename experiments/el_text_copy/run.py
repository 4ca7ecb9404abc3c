"""Two texts under cross-entropy and E1, each without and with warm-up, and under two controls."""

import os
from pathlib import Path

from configs.el.text_copy import get_config
from el_jax import build
from el_jax.runtime.errors import ConfigError
from experiments.el_text_copy.settings import (
    ABSENT,
    CONTROLS,
    MANY,
    NUM_MANY,
    ONE_EQUILIBRIUM,
    PERMUTED,
    TEXTS,
)
from experiments.harness.shards import WHOLE, Shard
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

GROUPS = ("", "easy_", "hard_")
METRICS = [
    *(f"test_{group}exact_match" for group in GROUPS),
    *(f"train_{group}exact_match" for group in GROUPS),
    *(f"{split}_{group}_ce" for split in ("train", "test") for group in ("easy", "hard")),
]
CURVES = [*METRICS[:3], "train_easy_ce", "train_hard_ce"]
FOLDER = "EL_JAX_GPT2"  # environment variable: a Hugging Face folder of GPT-2, for the paper scale
FEW = 128  # training sentences
FROM_SCRATCH = "smoke", "cpu"
SEEDS = {"smoke": 2, "cpu": 5, "pretrained": 3, "paper": 5}


def studies(scale: str) -> list[Study]:
    """Both losses without and with warm-up on each text; the controls under those of the paper.

    Where a small network is trained from scratch, also both losses on more sentences, and E1 at a
    λ that has one equilibrium. Of the pretrained network, whose updates take seconds, the two
    settings of Table 2.

    Raises:
        ConfigError: the paper scale has no model to fine-tune.
    """
    if scale == "pretrained":
        return [
            Study(config_of(scale, f"loss={loss},source={source}"), f", {name}")
            for name, source in TEXTS.items()
            for loss in ("cross_entropy", "e1")
        ]
    chosen = []
    for name, source in TEXTS.items():
        for loss in ("cross_entropy", "e1"):
            argument = f"loss={loss},source={source}"
            chosen.append(Study(_with_and_without_warm_up(scale, argument), f", {name}"))
            if scale in FROM_SCRATCH:
                config = _with_and_without_warm_up(scale, argument)
                config.task.num_train = NUM_MANY
                chosen.append(Study(config, f", {MANY}, {name}"))
                if loss == "e1":
                    config = _with_and_without_warm_up(scale, argument)
                    config.loss.lam = ONE_EQUILIBRIUM
                    chosen.append(Study(config, f", {name}"))
            for control in (PERMUTED, ABSENT):
                if control == PERMUTED or loss == "cross_entropy":
                    label = f"label={CONTROLS[control]}"
                    config = config_of(scale, f"loss={loss},source={source},{label}")
                    chosen.append(Study(config, f", {control}, {name}"))
    return chosen


def _with_and_without_warm_up(scale: str, argument: str) -> build.Config:
    config = config_of(scale, argument)
    warm_up = config.optim.warmup_steps or config.train.num_updates // 10
    config.sweep.optim.warmup_steps = (0, warm_up)
    return config


def config_of(scale: str, argument: str) -> build.Config:
    """The training of one setting: E1 with warm-up, cross-entropy without, as in the paper."""
    more = {"smoke": "smoke", "cpu": "scale=small", "pretrained": "pretrained=smollm2"}
    if scale == "paper" and not os.environ.get(FOLDER):
        raise ConfigError(f"{FOLDER}: must name a Hugging Face folder of GPT-2 for the paper scale")
    paper = f"scale=paper,pretrained={os.environ.get(FOLDER)}"
    config = get_config(f"{argument},{more.get(scale, paper)}")
    config.train.seeds = SEEDS[scale]
    if scale == "cpu":
        config.task.num_train = FEW  # by the rule of the README, on another seed's data
    if scale == "pretrained":
        config.task.update(num_train=160, sentences_per_update=8)
        config.train.update(num_updates=20, log_every=10, eval_every=20, checkpoint_every=20)
        config.optim.warmup_steps = min(config.optim.warmup_steps, 5)
        config.eval = {"test": 200}
    return config


def run(scale: str, out: Path, shard: Shard = WHOLE) -> None:
    """Train and write the tables."""
    run_sweep(
        "el_text_copy", scale, out, studies(scale),
        metrics=METRICS, curves=CURVES, extras=None, shard=shard,
    )  # fmt: skip
