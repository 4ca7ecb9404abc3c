"""The same strings in every update, packed into ever longer windows."""

from pathlib import Path

from configs.el.copy import get_config
from experiments.shards import WHOLE, Shard
from experiments.studies import Study
from experiments.sweep import run_sweep

TITLE = "What does a longer context do to the hard strings? (Yang et al. 2025, Figures 1a and 2)"

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
STRINGS_PER_WINDOW = {  # contexts of 55, 110, 220 and 440 tokens
    "smoke": (1, 2),
    "quick": (1, 2, 4),
    "cpu": (1, 2, 4, 8),
    "paper": (1, 2, 4, 8),
}


def studies(scale: str) -> list[Study]:
    """The studies of a scale, one per context length: cross-entropy, as in the paper."""
    size = {"smoke": "smoke", "paper": "scale=paper"}.get(scale, "scale=small")
    chosen = []
    for packed in STRINGS_PER_WINDOW[scale]:
        config = get_config(f"{size},strings_per_window={packed}")
        config.train.seeds = {"smoke": 2, "quick": 3, "cpu": 10, "paper": 10}[scale]
        length = 2 * config.task.copy_length + config.task.padding_length + 3
        chosen.append(Study(config, f", context {packed * length}"))
    return chosen


def run(scale: str, out: Path, shard: Shard = WHOLE) -> None:
    """Train and write the tables."""
    run_sweep(
        "el_copy_context", scale, out, studies(scale), metrics=METRICS, curves=CURVES, shard=shard
    )
