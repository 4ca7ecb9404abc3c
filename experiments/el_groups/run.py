"""Cross-entropy with and without weights of easy and hard strings, and heavy weight decay."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from experiments.el_methods.run import CURVES, METRICS, config_of
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import fitting, run_sweep

STRINGS = (200, 400)  # for training; a fifth of them are hard
SEEDS, FIRST_SEED = 20, 130  # data sets that no experiment was tuned on


class Setting(NamedTuple):
    """Numbers of a recipe: the learning rate, the decay, and the step size of group DRO."""

    rate: float
    decay: float = 0.0
    step_size: float = 0.0


class Recipe(NamedTuple):
    """A loss, and weights of its groups or none.

    Attributes:
        loss: its name; E1 has λ = 1.
        weighted: True for weights of groups; their step size is 0 where they are equal.
        chosen: the one of them that copies most.
        tried: the pilot's settings.
    """

    loss: str
    weighted: bool
    chosen: Setting
    tried: Sequence[Setting]


def _crossed(decays: Sequence[float], rates: Sequence[float]) -> list[Setting]:
    return [Setting(rate, decay) for decay in decays for rate in rates]


RATES = _crossed([0.0], [5e-4, 1.6e-3, 5e-3, 1.6e-2])
DECAYS = _crossed([3.0, 10.0], [5e-4, 1.6e-3])
CE, DECAY, E1 = "cross-entropy", "cross-entropy, decay", "E1"
EQUAL, DRO = "equal weights", "group DRO"
RECIPES = {
    CE: Recipe("cross_entropy", False, Setting(5e-3), RATES),
    EQUAL: Recipe("cross_entropy", True, Setting(5e-3), RATES),
    DRO: Recipe(
        "cross_entropy",
        True,
        Setting(5e-3, step_size=0.01),
        [Setting(rate, step_size=s) for s in (0.01, 0.1) for rate in (1.6e-3, 5e-3)],
    ),
    E1: Recipe("e1", False, Setting(5e-3), RATES),
    DECAY: Recipe("cross_entropy", False, Setting(1.6e-3, 10.0), DECAYS),
    f"{EQUAL}, decay": Recipe("cross_entropy", True, Setting(5e-4, 10.0), DECAYS),
    f"{DRO}, decay": Recipe(
        "cross_entropy",
        True,
        Setting(1.6e-3, 3.0, 0.1),
        [Setting(1.6e-3, decay, s) for s in (0.01, 0.1) for decay in (3.0, 10.0)],
    ),
}


def studies(scale: str) -> list[Study]:
    """A study for each recipe and number of strings; in the pilot, for each of its settings."""
    if scale == "smoke":
        return [_study(name, STRINGS[0], RECIPES[name].chosen, smoke=True) for name in (CE, DRO)]
    if scale == "cpu":
        return [
            _study(name, strings, recipe.chosen)
            for strings in STRINGS
            for name, recipe in RECIPES.items()
        ]
    return on_pilot_data(
        [
            _study(name, strings, setting)
            for strings in STRINGS
            for name, recipe in RECIPES.items()
            for setting in recipe.tried
        ]
    )


def _study(name: str, strings: int, setting: Setting, *, smoke: bool = False) -> Study:
    """The runs of a recipe."""
    recipe = RECIPES[name]
    argument = f"loss={recipe.loss}" + ",weighting=group_dro" * recipe.weighted
    config = config_of(argument, smoke=smoke)
    config.seed = config.task.data_seed = FIRST_SEED
    config.task.num_train = strings
    if recipe.loss == "e1":
        config.loss.lam = 1.0
    if recipe.weighted:
        config.weighting.step_size = setting.step_size
    config.sweep.optim.peak_lr = (setting.rate,)
    config.sweep.optim.weight_decay = (setting.decay,)
    if not smoke:
        config.train.seeds = SEEDS
    factors = {"recipe": name, "num_train": strings, "step_size": setting.step_size}
    return Study(config, factors)


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=fitting)
