"""Several networks on each of several data sets, with three settings."""

from functools import partial

from configs.el.copy import get_config
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

METRICS = [
    f"{split}_{group}_accuracy" for split in ("train", "test_precise") for group in ("easy", "hard")
]
CURVES = ["test_hard_accuracy"]
SEEDS_PER_DATA = 4  # seeds 0 to 3 have the first data set, 4 to 7 the second
WARM_UP = {"smoke": 20, "cpu": 1000, "paper": 1000}  # updates
DATA_SETS = {"smoke": 2, "cpu": 8, "paper": 10}


def studies(scale: str) -> list[Study]:
    """Cross-entropy without and with warm-up, and E2 with it, two strings a window."""
    return [
        _study(scale, "cross_entropy", (0, WARM_UP[scale])),
        _study(scale, "e2", (WARM_UP[scale],)),
    ]


def _study(scale: str, loss: str, warm_up: tuple[int, ...]) -> Study:
    size = {"smoke": "smoke", "paper": "scale=paper"}.get(scale, "scale=small")
    config = get_config(f"loss={loss},strings_per_window=2,{size}")
    config.optim.warmup_steps = 0
    config.sweep.optim.warmup_steps = warm_up
    config.train.seeds = DATA_SETS[scale] * SEEDS_PER_DATA
    return Study(config, seeds_per_data=SEEDS_PER_DATA)


run = partial(run_sweep, "el_copy_variance", studies=studies, metrics=METRICS, curves=CURVES)
