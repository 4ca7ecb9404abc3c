"""Five recipes with warm-up on 200 to 3,200 strings, all for the same number of updates."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from configs.el.copy import get_config
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import fitting, run_sweep

METRICS = [
    *(f"{s}_{group}_accuracy" for s in ("train", "test_precise") for group in ("easy", "hard")),
    *("swap_copies", "swap_undoes_shift", "batch_ce", "fitted_step"),
]
CURVES = ["swap_copies"]

STRINGS = (200, 400, 800, 1_600, 3_200)  # for training; a fifth of them are hard
PILOT_STRINGS = (400, 1_600)
NUM_UPDATES = 6_000
WARM_UP = (1_000,)
SEEDS = 5  # eight were planned; the run was stopped for lack of time, see the page


class Recipe(NamedTuple):
    """A loss and an optimizer.

    Attributes:
        loss: its name; E1 has λ = 4.
        optimizer: its name.
        b2: decay of AdamW's second moment; None keeps the optimizer's default.
        grid: learning rates of the pilot.
        rate: the one of them that copies most.
    """

    loss: str
    optimizer: str
    b2: float | None
    grid: Sequence[float]
    rate: float

    @property
    def factors(self) -> dict[str, Any]:
        """The columns that distinguish it from other recipes with its loss."""
        return {"optimizer": self.optimizer} | ({"b2": self.b2} if self.b2 else {})


ADAMW = (5e-5, 1.6e-4, 5e-4, 1.6e-3, 5e-3, 1.6e-2, 5e-2)
MUON = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
RECIPES = [
    Recipe("cross_entropy", "adamw", 0.999, ADAMW[2:], 5e-3),
    Recipe("e1", "adamw", 0.999, ADAMW[:5], 5e-4),
    Recipe("cross_entropy", "adamw", 0.95, ADAMW[2:], 5e-3),
    Recipe("cross_entropy", "muon", None, MUON, 1e-2),
    Recipe("e1", "muon", None, MUON[:3], 3e-3),
]


def studies(scale: str) -> list[Study]:
    """A study for each recipe and number of strings."""
    if scale == "smoke":
        two = (RECIPES[0], RECIPES[3])
        return [_study(r, (r.rate,), n, smoke=True) for r in two for n in STRINGS[:2]]
    if scale == "pilot":
        return on_pilot_data(
            [_study(recipe, recipe.grid, n) for recipe in RECIPES for n in PILOT_STRINGS]
        )
    return [_study(recipe, (recipe.rate,), n) for n in STRINGS for recipe in RECIPES]


def _study(recipe: Recipe, rates: Sequence[float], strings: int, *, smoke: bool = False) -> Study:
    config = get_config(
        f"loss={recipe.loss},optimizer={recipe.optimizer},scale=narrow,strings_per_window=1"
        + ",smoke" * smoke
    )
    config.task.num_train = strings
    config.optim.update(warmup_steps=0, clip_norm=1.0, schedule="linear")
    if recipe.b2:
        config.optim.b2 = recipe.b2
    config.sweep.optim.update(peak_lr=tuple(rates), warmup_steps=WARM_UP)
    config.train.probes = ("stratification", "swap")
    if smoke:
        config.sweep.optim.warmup_steps = (config.train.num_updates // 2,)
    else:
        config.train.update(
            num_updates=NUM_UPDATES, log_every=500, eval_every=NUM_UPDATES // 6, seeds=SEEDS
        )
        config.eval = {"test": 400, "test_precise": 4_000}
    return Study(config, {"num_train": strings} | recipe.factors)


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=fitting)
