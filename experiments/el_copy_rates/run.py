"""Every loss with and without warm-up over learning rates, and a control with more updates."""

from functools import partial

from configs.el.copy import get_config
from el_jax import build
from experiments.harness.studies import Study
from experiments.harness.sweep import fitting, run_sweep

SPLITS = ("train", "test", "test_precise")
METRICS = [
    *(f"{split}_{group}_accuracy" for split in SPLITS for group in ("easy", "hard")),
    *("fitted_step", "hard_accuracy_when_fitted", "rectified_afterwards"),
]
CURVES = [f"{split}_{group}_accuracy" for split in SPLITS[:2] for group in ("easy", "hard")]

WARM_UP = (0, 1000)  # updates
RATES = {"cpu": (3e-3, 6e-3, 1e-2), "paper": (1e-4, 3e-4, 1e-3)}
NUM_UPDATES = 3_000
SEEDS = {"smoke": 2, "cpu": 6, "paper": 10}


def studies(scale: str) -> list[Study]:
    """A study per loss, and two at the largest rate with four times the updates."""
    if scale == "smoke":
        return [_study(scale, loss, RATES["cpu"][1:2], (0, 20)) for loss in ("cross_entropy", "e2")]
    rates = RATES[scale]
    every = [_study(scale, loss, rates, WARM_UP) for loss in ("cross_entropy", "e1", "e2", "e3")]
    if scale == "paper":
        return every
    longer = [_study(scale, loss, rates[-1:], WARM_UP[1:]) for loss in ("cross_entropy", "e2")]
    for study in longer:
        study.config.train.num_updates *= 4
    return [*every, *(_with_length(study.config) for study in longer)]


def _study(scale: str, loss: str, rates: tuple[float, ...], warm_up: tuple[int, ...]) -> Study:
    size = {"smoke": ",smoke", "paper": ",scale=paper"}.get(scale, ",scale=small")
    config = get_config(f"loss={loss},strings_per_window=2{size}")
    config.optim.warmup_steps = 0
    config.sweep.optim.update(peak_lr=rates, warmup_steps=warm_up)
    config.train.seeds = SEEDS[scale]
    if scale == "cpu":
        config.train.eval_every = 1_000
        config.eval = {"test": 400, "test_precise": 4_000}
    return _with_length(config)


def _with_length(config: build.Config) -> Study:
    return Study(config, {"num_updates": config.train.num_updates})


run = partial(
    run_sweep, "el_copy_rates", studies=studies, metrics=METRICS, curves=CURVES, extras=fitting
)
