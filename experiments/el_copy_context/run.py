"""The same strings in every update, packed into ever longer windows."""

from pathlib import Path

from configs.el.copy import get_config
from el_jax import build
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


WARM_UP = {"smoke": 20}  # updates; elsewhere 1,000
ALL_TOKENS = 2  # strings a window of the runs whose loss is on all tokens


def packed_config(scale: str, packed: int, loss: str = "cross_entropy") -> tuple[build.Config, str]:
    """The copy task with so many strings a window, and the end of its setting's name."""
    size = {"smoke": "smoke", "paper": "scale=paper"}.get(scale, "scale=small")
    config = get_config(f"loss={loss},{size},strings_per_window={packed}")
    config.optim.warmup_steps = 0
    config.train.seeds = {"smoke": 2, "quick": 3, "cpu": 8, "paper": 10}[scale]
    length = 2 * config.task.copy_length + config.task.padding_length + 3
    return config, f", context {packed * length}"


def studies(scale: str) -> list[Study]:
    """Cross-entropy and E2 in every context, and cross-entropy with its loss on all tokens."""
    warm_up = WARM_UP.get(scale, 1000)
    chosen = []
    for packed in STRINGS_PER_WINDOW[scale]:
        for loss, grid in (("cross_entropy", (0, warm_up)), ("e2", (warm_up,))):
            config, context = packed_config(scale, packed, loss)
            config.sweep.optim.warmup_steps = grid
            chosen.append(Study(config, context))
    config, context = packed_config(scale, ALL_TOKENS)
    config.task.supervise = "all"
    return [*chosen, Study(config, f", all tokens{context}")]


def run(scale: str, out: Path, shard: Shard = WHOLE) -> None:
    """Train and write the tables."""
    run_sweep(
        "el_copy_context", scale, out, studies(scale), metrics=METRICS, curves=CURVES, shard=shard
    )
