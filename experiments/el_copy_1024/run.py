"""Cross-entropy and E1 in the paper's network at its settings, a tenth of its updates."""

from functools import partial
from typing import NamedTuple

from configs.el.copy import get_config
from experiments.harness.studies import Study
from experiments.harness.sweep import fitting, run_sweep

MECHANISM = ("swap_copies", "swap_undoes_shift")
GROUPS = [f"{s}_{group}" for s in ("train", "test") for group in ("easy", "hard")]
NUM_UPDATES, EVERY = 2_000, 200
METRICS = [f"{group}_{m}" for group in GROUPS for m in ("accuracy", "ce")]
METRICS += ["test_precise_hard_accuracy", "fitted_step", *MECHANISM]
CURVES = [*MECHANISM, *(f"{group}_accuracy" for group in GROUPS), "train_easy_ce", "train_hard_ce"]


class Recipe(NamedTuple):
    """Settings that differ; ``num_updates`` and ``seeds``, a data set each, by the time we had."""

    loss: str
    warmup_steps: int = 0
    weight_decay: float = 0.0
    schedule: str = "constant"
    num_updates: int = NUM_UPDATES
    seeds: int = 2
    peak_lr: float = 1e-4  # the config's


CE, E1 = "cross_entropy", "e1"
WARMUP = 1_000
DECAY = 48.0  # el_methods' 3 times 1024 / 64, as in el_copy_width; its rate falls as far, to this
RECIPES = {
    "cross-entropy": Recipe(CE),
    "E1 with warm-up": Recipe(E1, WARMUP),
    "cross-entropy with warm-up": Recipe(CE, WARMUP),
    "cross-entropy with heavy decay": Recipe(CE, 0, DECAY),
    "cross-entropy with heavy decay and a falling rate": Recipe(CE, 0, DECAY, "linear"),
    "cross-entropy with warm-up and a falling rate": Recipe(CE, WARMUP, 0.0, "linear"),
    # half of 2,000 updates would be warm-up
    "E1 with warm-up and a falling rate": Recipe(E1, WARMUP, 0.0, "linear", 4_000),
    "cross-entropy with warm-up and a falling rate for 4k": Recipe(
        CE, WARMUP, 0.0, "linear", 4_000, seeds=1
    ),
    # the rate at which cross-entropy copies most in el_copy_strings, .005, times 64 / 1024
    "cross-entropy with warm-up and a falling rate from 3e-4": Recipe(
        CE, WARMUP, 0.0, "linear", peak_lr=3e-4
    ),
    "E1 with warm-up and a falling rate from 3e-4": Recipe(
        E1, WARMUP, 0.0, "linear", seeds=1, peak_lr=3e-4
    ),
    "cross-entropy with warm-up and a falling rate from 1e-3": Recipe(
        CE, WARMUP, 0.0, "linear", seeds=1, peak_lr=1e-3
    ),
}


def studies(scale: str) -> list[Study]:
    """A study for each recipe."""
    return [_study(recipe, smoke=scale == "smoke") for recipe in RECIPES]


def _study(recipe: str, *, smoke: bool) -> Study:
    chosen = RECIPES[recipe]
    config = get_config(f"loss={chosen.loss},scale=paper" + ",smoke" * smoke)
    config.train.probes = ("stratification", "swap")
    config.optim.update(
        weight_decay=chosen.weight_decay, schedule=chosen.schedule, peak_lr=chosen.peak_lr
    )
    if smoke:
        config.optim.warmup_steps = min(chosen.warmup_steps, config.train.num_updates // 2)
    else:
        config.optim.warmup_steps = chosen.warmup_steps
        config.train.update(num_updates=chosen.num_updates, seeds=chosen.seeds)
        config.train.update(log_every=50, eval_every=EVERY, checkpoint_every=EVERY)
        config.eval = {"test": 200, "test_precise": 1_000}
    return Study(config, {"recipe": recipe})


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=fitting)
