"""Optimizers × losses × warm-up, each recipe at the rate that copies most on other data sets."""

from collections.abc import Iterable, Sequence
from functools import partial

from configs.el.copy import get_config
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import fitting, run_sweep

METRICS = [
    *(f"{s}_{group}_accuracy" for s in ("train", "test_precise") for group in ("easy", "hard")),
    *("swap_copies", "swap_undoes_shift", "batch_ce", "batch_hard_ce"),
    *("fitted_step", "hard_accuracy_when_fitted", "rectified_afterwards"),
]
CURVES = ["swap_copies"]

WARM_UP = (0, 1_000)  # updates
NUM_UPDATES = {"sgd": 12_000}  # 3,000 for the others
GRIDS = {
    "sgd": (0.01, 0.03, 0.1, 0.3),
    "signum": (1e-4, 3e-4, 1e-3, 3e-3),
    "adamw": (3e-4, 1e-3, 3e-3, 1e-2),
    "muon": (1e-3, 3e-3, 1e-2, 3e-2),
}
# for each recipe, without and with warm-up: the rate at which it copies most in the pilot
RATES = {
    ("sgd", "cross_entropy"): (0.03, 0.1),
    ("signum", "cross_entropy"): (3e-4, 1e-3),
    ("adamw", "cross_entropy"): (3e-3, 3e-3),
    ("adamw", "e1"): (1e-3, 1e-3),
    ("adamw", "e2"): (1e-3, 1e-3),
    ("muon", "cross_entropy"): (3e-3, 3e-3),
    ("muon", "e1"): (3e-3, 3e-3),
    ("muon", "e2"): (3e-3, 1e-2),
}
SEEDS = 24  # at most: fewer once every claim is decided


def studies(scale: str) -> list[Study]:
    """A study for each recipe at its rate; in the pilot, one for each optimizer and loss."""
    if scale == "smoke":
        return [
            _study(name, "cross_entropy", GRIDS[name][1:2], (0, 20), smoke=True)
            for name in ("adamw", "muon")
        ]
    if scale == "pilot":
        return _pilot()
    return [
        _study(optimizer, loss, (rate,), (steps,))
        for (optimizer, loss), rates in RATES.items()
        for rate, steps in zip(rates, WARM_UP, strict=True)
    ]


def _pilot() -> list[Study]:
    return on_pilot_data([_study(name, loss, GRIDS[name], WARM_UP) for name, loss in RATES])


def _study(
    optimizer: str,
    loss: str,
    rates: Sequence[float],
    warm_up: Iterable[int],
    *,
    smoke: bool = False,
) -> Study:
    config = get_config(
        f"loss={loss},optimizer={optimizer},scale=small,strings_per_window=2" + ",smoke" * smoke
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


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=fitting)
