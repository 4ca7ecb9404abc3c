"""Loss, warm-up, Adam's second moment and weight decay in all combinations."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from configs import common
from configs.el.copy import get_config
from el_jax import build
from el_jax.probes.stratification import FITTED_ACCURACY
from el_jax.process.imports import import_all
from el_jax.training.sinks import History
from el_jax.types import Row
from experiments.el_copy_attribution.claims import LONG, SHORT
from experiments.harness.discovery import ExperimentError
from experiments.harness.studies import Study
from experiments.harness.sweep import fitting, run_sweep

SPLITS = ("train", "test_precise")
METRICS = [
    *(f"{split}_{group}_accuracy" for split in SPLITS for group in ("easy", "hard")),
    *("fitted_step", "hard_accuracy_when_fitted", "rectified_afterwards"),
    *("lowest_once_fitted", "update_over_gradient"),
]
CURVES = ["test_hard_accuracy", "batch_hard_accuracy", "batch_grad_norm", "batch_update_norm"]
MAX_MARKS = 16

STRENGTH = {"e1": {"lam": 2.0}}  # the smallest power of 2 with one equilibrium margin at V = 29
LOSSES = ("cross_entropy", "e1", "e2", "e3")
WARM_UP = (0, 1000)  # updates: the memory of Adam's second moment at β₂ = .999


class Setting(NamedTuple):
    """Sizes of task and network.

    Attributes:
        strings_per_window: of 55 tokens each.
        num_train: training strings; a fifth of them are hard.
        width: of the network.
        num_layers: of the network.
        peak_lr: learning rate after warm-up.
        num_updates: of a training.
    """

    strings_per_window: int
    num_train: int
    width: int
    num_layers: int
    peak_lr: float
    num_updates: int


# six hard strings a letter, so that all letters can be learnt; chosen on data seeds from 100 up
WIDE = Setting(2, 800, 64, 2, 3e-3, 3_000)
NARROW = Setting(2, 800, 32, 2, 6e-3, 6_000)
# three hard strings a letter, as in configs/el/copy.py
FEW = Setting(1, 400, 32, 3, 3e-3, 7_500)

OPTIMIZER = "experiments.el_copy_attribution.optimizer"  # registers adamw_switched
Grid = Mapping[str, tuple[float, ...]]  # numbers of the optimizer
FULL: Grid = {"warmup_steps": WARM_UP, "b2": (LONG, 0.99, SHORT), "weight_decay": (0.0, 0.1)}
MEMORY: Grid = {"warmup_steps": WARM_UP, "b2": (LONG, SHORT), "weight_decay": (0.0,)}
WARMED: Grid = {"warmup_steps": WARM_UP}
SWITCHED: Grid = {"b2": (LONG, SHORT), "b2_later": (LONG, SHORT)}


def studies(scale: str) -> list[Study]:
    """A study per loss in each setting, and the runs whose β₂ changes half-way.

    Raises:
        ExperimentError: there is no paper scale.
    """
    if scale == "paper":
        raise ExperimentError("el_copy_attribution has no paper scale: the paper has no such table")
    if scale == "smoke":
        return [*(_study(WIDE, loss, WARMED, 2, smoke=True) for loss in LOSSES[:2])]
    return [
        *(_study(WIDE, loss, WARMED, 8) for loss in LOSSES),
        *(_study(NARROW, loss, FULL, 8) for loss in LOSSES),
        *(_study(FEW, loss, MEMORY, 8) for loss in LOSSES),
        _switched(FEW, 8),
    ]


def _study(setting: Setting, loss: str, grid: Grid, seeds: int, *, smoke: bool = False) -> Study:
    config = _config(setting, loss, smoke=smoke)
    config.sweep.optim.update(grid)
    if smoke:
        config.sweep.optim.warmup_steps = (0, config.train.num_updates // 2)
    config.train.seeds = seeds
    return _with_sizes(config)


def _switched(setting: Setting, seeds: int) -> Study:
    """Cross-entropy without warm-up, whose second moment changes its memory half-way."""
    import_all((OPTIMIZER,))
    config = _config(setting, "cross_entropy")
    half = setting.num_updates // 2
    schedule = {key: config.optim[key] for key in ("schedule", "peak_lr", "warmup_steps", "b2")}
    config.optim = common.optim("adamw_switched", **schedule, switch_at=half)
    config.imports = (OPTIMIZER,)
    config.sweep = common.sweep(config)
    config.sweep.optim.update(SWITCHED)
    config.train.seeds = seeds
    return _with_sizes(config)


def _with_sizes(config: build.Config) -> Study:
    return Study(config, {"num_train": config.task.num_train, "width": config.model.width})


def _config(setting: Setting, loss: str, *, smoke: bool = False) -> build.Config:
    packed = f"strings_per_window={setting.strings_per_window}"
    config = get_config(f"loss={loss},scale=small,{packed}" + ",smoke" * smoke)
    config.loss.update(STRENGTH.get(loss, {}))
    config.optim.update(warmup_steps=0, peak_lr=setting.peak_lr, b2=SHORT)
    if smoke:
        return config
    config.task.num_train = setting.num_train
    config.model.update(width=setting.width, num_layers=setting.num_layers)
    config.train.update(num_updates=setting.num_updates, log_every=100, eval_every=500)
    config.eval = {"test": 400, "test_precise": 4_000}
    return config


def course(history: History) -> Row:
    """Metrics of the whole course of each run.

    Returns:
        Those of ``fitting``; ``lowest_once_fitted``, the lowest accuracy on the hard training
        strings, over 100 updates, once it has been .99 (NaN if it never was); and
        ``update_over_gradient``, the norm of the parameter update over that of the gradient, the
        median over the stretch from half of the updates to the decay of the rate.
    """
    steps, hard = history.curve("batch_hard_accuracy")
    once = np.maximum.accumulate(hard >= FITTED_ACCURACY)
    lowest = np.where(once, hard, np.inf).min(0)
    share = np.asarray(steps) / steps[-1]
    ratio = history.curve("batch_update_norm")[1] / history.curve("batch_grad_norm")[1]
    return fitting(history) | {
        "lowest_once_fitted": np.where(np.isfinite(lowest), lowest, np.nan),
        "update_over_gradient": np.median(ratio[(share > 0.5) & (share <= 0.8)], axis=0),
    }


run = partial(
    run_sweep,
    "el_copy_attribution",
    studies=studies,
    metrics=METRICS,
    curves=CURVES,
    extras=course,
    max_marks=MAX_MARKS,
)
