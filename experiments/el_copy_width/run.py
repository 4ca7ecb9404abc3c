"""Cross-entropy at ever larger widths, everything else the same."""

from pathlib import Path

from configs.el.copy import get_config
from experiments.shards import WHOLE, Shard
from experiments.studies import Study
from experiments.sweep import run_sweep

TITLE = "What does a larger model do to the hard strings? (Yang et al. 2025, Figure 1b)"

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
WIDTHS = {
    "smoke": (16, 32),
    "quick": (16, 32, 64),
    "cpu": (16, 32, 64, 128),
    "paper": (1024, 2048, 3072, 4096),
}
STRINGS_PER_WINDOW = {"paper": (1, 2, 4, 8)}  # contexts of 55 to 440 tokens; elsewhere 55
SEEDS = {"smoke": 2, "quick": 3, "cpu": 10, "paper": 10}


def studies(scale: str) -> list[Study]:
    """The studies of a scale; the peak learning rate is proportional to one over the width."""
    size = {"smoke": "smoke", "paper": "scale=paper"}.get(scale, "scale=small")
    chosen = []
    for packed in STRINGS_PER_WINDOW.get(scale, (1,)):
        for width in WIDTHS[scale]:
            config = get_config(f"{size},strings_per_window={packed}")
            own_width = 32 if size == "smoke" else config.model.width  # that its rate is meant for
            config.optim.peak_lr *= own_width / width
            config.model.width = width
            config.train.seeds = SEEDS[scale]
            length = 2 * config.task.copy_length + config.task.padding_length + 3
            chosen.append(Study(config, f", context {packed * length}, width {width}"))
    return chosen


def run(scale: str, out: Path, shard: Shard = WHOLE) -> None:
    """Train and write the tables."""
    run_sweep(
        "el_copy_width", scale, out, studies(scale), metrics=METRICS, curves=CURVES, shard=shard
    )
