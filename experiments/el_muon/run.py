"""Optimizers × losses × warm-up, each recipe at the rate that copies most on other data sets."""

from collections.abc import Iterable, Sequence
from functools import partial

from configs.el.copy import get_config
from experiments.harness.studies import Study
from experiments.harness.sweep import fitting, run_sweep

METRICS = [
    *(f"{s}_{group}_accuracy" for s in ("train", "test_precise") for group in ("easy", "hard")),
    *("swap_copies", "swap_undoes_shift", "batch_ce", "batch_hard_ce"),
    *("fitted_step", "hard_accuracy_when_fitted", "rectified_afterwards"),
]
CURVES = ["train_hard_accuracy", "test_hard_accuracy", "swap_copies"]

WARM_UP = (0, 1_000)  # updates
NUM_UPDATES = {"sgd": 12_000}  # of the others 3,000
RECIPES = {
    "sgd": ("cross_entropy",),
    "signum": ("cross_entropy",),
    "adamw": ("cross_entropy", "e1", "e2"),
    "muon": ("cross_entropy", "e1", "e2"),
}
GRIDS = {
    "sgd": (0.03, 0.1, 0.3),
    "signum": (1e-4, 3e-4, 1e-3),
    "adamw": (3e-4, 1e-3, 3e-3),
    "muon": (1e-3, 3e-3, 1e-2),
}
SEEDS = 4
PILOT_SEED = 100  # and up: never reported


def studies(scale: str) -> list[Study]:
    """A study for each optimizer, loss and rate."""
    if scale == "smoke":
        return [
            _study(name, "cross_entropy", GRIDS[name][1:2], (0, 20), smoke=True)
            for name in ("adamw", "muon")
        ]
    chosen = [
        _study(name, loss, GRIDS[name], WARM_UP)
        for name, losses in RECIPES.items()
        for loss in losses
    ]
    for study in chosen:
        study.config.seed = study.config.task.data_seed = PILOT_SEED
        study.config.train.seeds = 2
    return chosen


def _study(
    optimizer: str,
    loss: str,
    rates: Sequence[float],
    warm_up: Iterable[int],
    *,
    smoke: bool = False,
) -> Study:
    config = get_config(
        f"loss={loss},optimizer={optimizer},strings_per_window=2" + ",smoke" * smoke
    )
    config.optim.update(warmup_steps=0, clip_norm=1.0, schedule="wsd")
    if "b2" in config.optim:
        config.optim.b2 = 0.95
    config.sweep.optim.update(peak_lr=tuple(rates), warmup_steps=tuple(warm_up))
    config.train.probes = ("stratification", "swap")
    if not smoke:
        config.train.update(num_updates=NUM_UPDATES.get(optimizer, 3_000), seeds=SEEDS)
        config.train.eval_every = config.train.num_updates // 6
        config.eval = {"test": 400, "test_precise": 4_000}
    return Study(config, {"optimizer": optimizer})


run = partial(run_sweep, "el_muon", studies=studies, metrics=METRICS, curves=CURVES, extras=fitting)
