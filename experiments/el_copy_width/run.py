"""Cross-entropy at ever larger widths, everything else the same."""

from functools import partial

from configs.el.copy import get_config
from experiments.harness.studies import Study
from experiments.harness.sweep import fitting, run_sweep

GROUPS, SPLITS = ("easy", "hard"), ("train", "test", "test_precise")
METRICS = [
    *(f"{split}_{group}_{m}" for m in ("accuracy", "ce") for split in SPLITS for group in GROUPS),
    *("fitted_step", "hard_accuracy_when_fitted", "rectified_afterwards"),
]
CURVES = [
    *(f"{split}_{group}_accuracy" for split in SPLITS[:2] for group in GROUPS),
    *(f"batch_{group}_ce" for group in GROUPS),
]
SEEDS = {"smoke": 2, "cpu": 6, "paper": 10}
WIDTHS = {
    "smoke": (16, 32),
    "cpu": (32, 64, 128),
    "paper": (1024, 2048, 3072, 4096),
}
STRINGS_PER_WINDOW = {"paper": (1, 2, 4, 8)}  # contexts of 55 to 440 tokens; elsewhere 110


def studies(scale: str) -> list[Study]:
    """The studies of a scale; the peak learning rate is proportional to one over the width."""
    chosen = []
    for packed in STRINGS_PER_WINDOW.get(scale, (2,)):
        for width in WIDTHS[scale]:
            size = {"smoke": "smoke", "paper": "scale=paper"}.get(scale, "scale=small")
            config = get_config(f"{size},strings_per_window={packed}")
            config.train.seeds = SEEDS[scale]
            own_width = 32 if scale == "smoke" else config.model.width  # that its rate is meant for
            config.optim.peak_lr *= own_width / width
            config.model.width = width
            chosen.append(Study(config, {"strings_per_window": packed, "width": width}))
    return chosen


run = partial(
    run_sweep, "el_copy_width", studies=studies, metrics=METRICS, curves=CURVES, extras=fitting
)
