"""Cross-entropy, E1 and Muon with and without heavy weight decay, on few strings, for long."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from configs.el.copy import get_config
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import fitting, run_sweep

METRICS = [
    *(f"{s}_{group}_accuracy" for s in ("train", "test_precise") for group in ("easy", "hard")),
    *("train_easy_margin", "train_hard_margin", "train_hard_ce"),
    *("swap_copies", "swap_undoes_shift", "fitted_step"),
]
CURVES = ["swap_copies"]

STRINGS = (120, 200, 400)  # for training; a fifth of them are hard
SHORT, LONG = 4_000, 20_000  # updates; warm-up is an eighth of them
PILOT_STRINGS = 400
SEEDS = 12


class Recipe(NamedTuple):
    """A loss, an optimizer and its decay.

    Attributes:
        loss: its name; E1 has λ = 1.
        optimizer: its name.
        decay: the weight decay; with ``rate``, the pair that copies most in the pilot.
        rate: the learning rate.
        decays: the pilot's decays; none for a recipe that el_methods has tuned.
        rates: the pilot's learning rates.
    """

    loss: str
    optimizer: str
    decay: float
    rate: float
    decays: Sequence[float] = ()
    rates: Sequence[float] = ()


RECIPES = {
    "cross-entropy": Recipe("cross_entropy", "adamw", 0.0, 5e-3),
    "cross-entropy, decay": Recipe(
        "cross_entropy", "adamw", 10.0, 1.6e-3, (1.0, 3.0, 10.0, 30.0), (5e-4, 1.6e-3, 5e-3)
    ),
    "E1": Recipe("e1", "adamw", 0.0, 5e-3),
    "E1, decay": Recipe("e1", "adamw", 3.0, 1.6e-3, (1.0, 3.0, 10.0), (5e-4, 1.6e-3)),
    "Muon": Recipe("cross_entropy", "muon", 0.0, 1e-2),
    "Muon, decay": Recipe("cross_entropy", "muon", 3.0, 1e-2, (0.3, 1.0, 3.0, 10.0), (3e-3, 1e-2)),
}
LONG_RECIPES = ("cross-entropy", "cross-entropy, decay")


def studies(scale: str) -> list[Study]:
    """A study for each recipe and number of strings, and two long ones at the paper's number."""
    if scale == "smoke":
        return [_study(name, STRINGS[0], smoke=True) for name in LONG_RECIPES]
    if scale == "pilot":
        return on_pilot_data([_pilot(name) for name, recipe in RECIPES.items() if recipe.decays])
    return [
        *(_study(name, strings) for strings in STRINGS for name in RECIPES),
        *(_study(name, STRINGS[-1], LONG) for name in LONG_RECIPES),
    ]


def _pilot(name: str) -> Study:
    """A recipe at all its decays and rates."""
    study = _study(name, PILOT_STRINGS)
    optim = study.config.sweep.optim
    optim.weight_decay, optim.peak_lr = RECIPES[name].decays, RECIPES[name].rates
    return study


def _study(name: str, strings: int, updates: int = SHORT, *, smoke: bool = False) -> Study:
    """The runs of a recipe at its decay and rate."""
    recipe = RECIPES[name]
    config = get_config(
        f"loss={recipe.loss},optimizer={recipe.optimizer},scale=narrow" + ",smoke" * smoke
    )
    config.task.num_train = strings
    if recipe.loss == "e1":
        config.loss.lam = 1.0
    config.sweep.optim.weight_decay = (recipe.decay,)
    config.sweep.optim.peak_lr = (recipe.rate,)
    config.train.probes = ("stratification", "swap")
    if smoke:
        updates = config.train.num_updates
    else:
        config.train.update(num_updates=updates, log_every=500, eval_every=1_000, seeds=SEEDS)
        config.eval = {"test": 400, "test_precise": 4_000}
    config.optim.update(warmup_steps=updates // 8, clip_norm=1.0, schedule="linear")
    return Study(config, {"recipe": name, "num_train": strings, "num_updates": updates})


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=fitting)
