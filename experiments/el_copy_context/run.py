"""Trainings with other neighbours in the window, other padding, other shares of easy strings."""

from pathlib import Path

from configs.el.copy import get_config
from el_jax import build
from experiments.el_copy_context.settings import (
    BASE,
    CONTEXT,
    EASY,
    EASY_FRACTIONS,
    PADDING,
    PADDINGS,
    suffix_of,
)
from experiments.harness.shards import WHOLE, Shard
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

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
WARM_UP = {"smoke": (0, 20), "quick": (0, 1000), "cpu": (0, 1000), "paper": (0, 1000)}  # updates
SEEDS = {"smoke": 2, "quick": 3, "cpu": 6, "paper": 10}
KEYS = {PADDING: "padding_length", EASY: "easy_fraction"}
BASE_STRINGS = 2  # a window, where another factor than the context varies


def packed_config(scale: str, packed: int, loss: str = "cross_entropy") -> tuple[build.Config, str]:
    """The copy task with so many strings a window, and the end of its setting's name."""
    size = {"smoke": "smoke", "paper": "scale=paper"}.get(scale, "scale=small")
    config = get_config(f"loss={loss},{size},strings_per_window={packed}")
    config.optim.warmup_steps = 0
    config.train.seeds = SEEDS[scale]
    length = 2 * config.task.copy_length + config.task.padding_length + 3
    return config, suffix_of(CONTEXT, packed * length)


def studies(scale: str) -> list[Study]:
    """Each factor by itself, and cross-entropy with its loss on all tokens."""
    chosen = []
    for packed in STRINGS_PER_WINDOW[scale]:
        chosen += _losses(scale, packed)
    config, context = packed_config(scale, BASE_STRINGS)
    config.task.supervise = "all"
    chosen.append(Study(config, f", all tokens{context}"))
    if scale in ("smoke", "cpu"):
        for factor, values in {PADDING: PADDINGS, EASY: EASY_FRACTIONS}.items():
            for value in values[:1] if scale == "smoke" else values:
                if value != BASE[factor]:
                    chosen.append(_cross_entropy(scale, factor, value))
    return chosen


def _losses(scale: str, packed: int) -> list[Study]:
    """Cross-entropy without and with warm-up, and E2 with it, in the same context."""
    chosen = []
    for loss, grid in (("cross_entropy", WARM_UP[scale]), ("e2", WARM_UP[scale][1:])):
        config, context = packed_config(scale, packed, loss)
        config.sweep.optim.warmup_steps = grid
        chosen.append(Study(config, context))
    return chosen


def _cross_entropy(scale: str, factor: str, value: float) -> Study:
    """Cross-entropy without and with warm-up, on data with another value of a factor."""
    config, _ = packed_config(scale, BASE_STRINGS)
    config.sweep.optim.warmup_steps = WARM_UP[scale]
    config.task[KEYS[factor]] = value
    return Study(config, suffix_of(factor, value))


def run(scale: str, out: Path, shard: Shard = WHOLE) -> None:
    """Train and write the tables."""
    run_sweep(
        "el_copy_context", scale, out, studies(scale), metrics=METRICS, curves=CURVES, shard=shard
    )
