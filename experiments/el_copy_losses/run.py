"""Every loss on the padded-shifted copy task, with and without warm-up."""

from pathlib import Path

from configs.el.copy import get_config
from experiments.sweep import Study, run_sweep

TITLE = "Which losses copy from the right place? (Yang et al. 2025, Figures 4 and 5, Table 3)"

SPLITS = ("train", "test", "test_precise")
METRICS = [
    *(f"{split}_{group}_accuracy" for split in SPLITS for group in ("easy", "hard")),
    *(f"{split}_{group}_exact_match" for split in SPLITS for group in ("easy", "hard")),
    *(f"{split}_{group}_ce" for split in SPLITS for group in ("easy", "hard")),
    *("fitted_step", "hard_accuracy_when_fitted", "rectified_afterwards"),
]
CURVES = [f"{s}_{g}_{m}" for s in SPLITS[:2] for g in ("easy", "hard") for m in ("accuracy", "ce")]

# what each loss is swept over, beside warm-up; the paper searched powers of 2
GRIDS: dict[str, dict[str, dict[str, tuple[float, ...]]]] = {
    "cpu": {
        "cross_entropy": {},
        "e1": {"lam": (0.5, 1.0, 2.0, 4.0)},
        "e2": {"lam": (4.0,)},
        "e3": {"b": (1.0,)},
    },
    "paper": {
        "cross_entropy": {},
        "e1": {"lam": (1.0, 2.0, 4.0, 8.0)},
        "e2": {"lam": (4.0, 10.0)},
        "e3": {"b": (1.0, 2.0)},
    },
}


def studies(scale: str) -> list[Study]:
    """What each scale trains."""
    if scale == "smoke":
        return [Study(get_config(f"loss={loss},smoke")) for loss in GRIDS["cpu"]]
    if scale == "quick":
        return [_study(loss, 3, warmup_steps=(1000,)) for loss in ("e1", "e2", "e3")] + [
            _study("cross_entropy", 3, warmup_steps=(0, 1000))
        ]
    paper = scale == "paper"
    size = "scale=paper,long" if paper else "scale=small"
    seeds = 10 if paper else 5
    small_alphabet = [
        _study(loss, seeds, size, "", warmup_steps=(0, 1000), **grid)
        for loss, grid in GRIDS[scale].items()
    ]
    return small_alphabet + [
        _study(loss, seeds, size, ", V=500", warmup_steps=(1000,))
        for loss in ("cross_entropy", "e1")
    ]


def _study(
    loss: str, seeds: int, size: str = "scale=small", suffix: str = "", **grid: tuple[float, ...]
) -> Study:
    config = get_config(f"loss={loss},{size}")
    config.train.seeds = seeds
    config.sweep.update(grid)
    if suffix == ", V=500":  # with twice the data, as the paper; as many epochs
        config.task.update(alphabet_size=500, num_train=2 * config.task.num_train)
        config.train.num_updates = 2 * config.train.num_updates
    return Study(config, suffix)


def run(scale: str, out: Path) -> None:
    """Train and write the tables."""
    run_sweep("el_copy_losses", scale, out, studies(scale), metrics=METRICS, curves=CURVES)
