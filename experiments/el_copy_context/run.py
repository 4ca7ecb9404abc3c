"""Trainings with other neighbours in the window, other padding, other shares of easy strings."""

from functools import partial
from typing import Any

from configs.el.copy import get_config
from experiments.harness.studies import Study
from experiments.harness.sweep import fitting, run_sweep

SPLITS = ("train", "test", "test_precise")
METRICS = [
    *(f"{split}_{group}_accuracy" for split in SPLITS for group in ("easy", "hard")),
    *(f"{split}_{group}_ce" for split in SPLITS for group in ("easy", "hard")),
    *("fitted_step", "hard_accuracy_when_fitted", "rectified_afterwards"),
]
CURVES = [
    *(f"{split}_{group}_accuracy" for split in SPLITS[:2] for group in ("easy", "hard")),
    *(f"batch_{group}_ce" for group in ("easy", "hard")),
]
STRINGS_PER_WINDOW = {
    "smoke": (1, 2),
    "cpu": (1, 2, 4, 8),
    "paper": (1, 2, 4, 8),
}
TOKENS = 55  # of a string: contexts of 55, 110, 220 and 440
PADDINGS = (10, 25, 50, 100)
SHARES = (0.0, 0.5, 0.8, 0.9)  # of easy strings
BASE: dict[str, Any] = {  # of the runs over another factor
    "strings_per_window": 2,
    "padding_length": 50,
    "easy_fraction": 0.8,
    "supervise": "answer",
}
SEEDS = {"smoke": 2, "cpu": 6, "paper": 10}


def studies(scale: str) -> list[Study]:
    """Each factor by itself, and cross-entropy with its loss on all tokens."""
    warm_up = (0, 20 if scale == "smoke" else 1000)
    chosen = []
    for packed in STRINGS_PER_WINDOW[scale]:
        chosen.append(study_of(scale, warm_up, strings_per_window=packed))
        chosen.append(study_of(scale, warm_up[1:], loss="e2", strings_per_window=packed))
    chosen.append(study_of(scale, supervise="all"))
    if scale in ("smoke", "cpu"):
        num = 1 if scale == "smoke" else None
        chosen += [study_of(scale, warm_up, padding_length=p) for p in PADDINGS[:num] if p != 50]
        chosen += [study_of(scale, warm_up, easy_fraction=p) for p in SHARES[:num] if p != 0.8]
    return chosen


def study_of(
    scale: str, warm_up: tuple[int, ...] = (0,), *, loss: str = "cross_entropy", **changed: Any
) -> Study:
    """Trainings on the copy task with some factors of ``BASE`` changed."""
    size = {"smoke": "smoke", "paper": "scale=paper"}.get(scale, "scale=small")
    factors = BASE | changed
    config = get_config(f"loss={loss},{size}")
    config.task.update(factors)
    config.optim.warmup_steps = 0
    config.sweep.optim.warmup_steps = warm_up
    config.train.seeds = SEEDS[scale]
    return Study(config, factors)


run = partial(
    run_sweep, "el_copy_context", studies=studies, metrics=METRICS, curves=CURVES, extras=fitting
)
