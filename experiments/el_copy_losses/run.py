"""Every loss on the padded-shifted copy task, with and without warm-up."""

from pathlib import Path

from configs.el.copy import get_config
from experiments.harness.shards import WHOLE, Shard
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

SPLITS = ("train", "test", "test_precise")
METRICS = [
    *(f"{split}_{group}_accuracy" for split in SPLITS for group in ("easy", "hard")),
    *(f"{split}_{group}_exact_match" for split in SPLITS for group in ("easy", "hard")),
    *(f"{split}_{group}_ce" for split in SPLITS for group in ("easy", "hard")),
    *("fitted_step", "hard_accuracy_when_fitted", "rectified_afterwards"),
]
CURVES = [f"{s}_{g}_{m}" for s in SPLITS[:2] for g in ("easy", "hard") for m in ("accuracy", "ce")]

Grid = dict[str, tuple[float, ...]]
WARM_UP: Grid = {"warmup_steps": (1000,)}
BOTH: Grid = {"warmup_steps": (0, 1000)}
# what each loss is swept over: the paper searched powers of 2, and chose 4 for E1. At 29 classes 2
# is the smallest at which E1 has a single equilibrium margin.
GRIDS: dict[str, dict[str, Grid]] = {
    "quick": {
        "cross_entropy": BOTH,
        "e1": {"lam": (2.0,), **WARM_UP},
        "e2": WARM_UP,
        "e3": WARM_UP,
    },
    "cpu": {
        "cross_entropy": BOTH,
        "e1": {"lam": (1.0, 2.0, 4.0), **BOTH},
        "e2": BOTH,
        "e3": BOTH,
    },
    "paper": {
        "cross_entropy": BOTH,
        "e1": {"lam": (1.0, 2.0, 4.0, 8.0), **BOTH},
        "e2": {"lam": (4.0, 10.0), **BOTH},
        "e3": {"b": (1.0, 2.0), **BOTH},
    },
}
SEEDS = {"quick": 3, "cpu": 10, "paper": 10}


def studies(scale: str) -> list[Study]:
    """The studies of a scale: one per loss and, but for smoke and quick, E1 with V = 500."""
    if scale == "smoke":
        return [Study(get_config(f"loss={loss},smoke")) for loss in GRIDS["cpu"]]
    chosen = [_study(scale, loss, grid) for loss, grid in GRIDS[scale].items()]
    if scale != "quick":
        chosen.append(_study(scale, "e1", WARM_UP, ", V=500"))
    return chosen


def _study(scale: str, loss: str, grid: Grid, suffix: str = "") -> Study:
    config = get_config(f"loss={loss},{'scale=paper,long' if scale == 'paper' else 'scale=small'}")
    config.train.seeds = SEEDS[scale]
    for name, values in grid.items():
        config.sweep["optim" if name in config.sweep.optim else "loss"][name] = values
    if suffix:  # V=500, with twice the data as in the paper, and as many epochs
        config.task.update(alphabet_size=500, num_train=2 * config.task.num_train)
        config.train.num_updates = 2 * config.train.num_updates
    return Study(config, suffix)


def run(scale: str, out: Path, shard: Shard = WHOLE) -> None:
    """Train and write the tables."""
    run_sweep(
        "el_copy_losses", scale, out, studies(scale), metrics=METRICS, curves=CURVES, shard=shard
    )
