"""Five recipes on 512 to 8,192 sentences of random hierarchies, each for as many updates."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from configs.el.hierarchy import get_config
from experiments.harness.discovery import ExperimentError
from experiments.harness.studies import PILOT_SEED, Study, on_pilot_data
from experiments.harness.sweep import run_sweep

NAME = "el_hierarchy"
METRICS = ["train_label_accuracy", "test_label_accuracy", "train_label_ce", "test_label_ce"]
CURVES = ["train_label_accuracy", "test_label_accuracy"]

STRINGS = (512, 1_024, 2_048, 4_096, 8_192)  # from C m^L, the paper's number for deep networks
PILOT_STRINGS = 2_048
NUM_UPDATES = 3_000
SEEDS = 5


class Recipe(NamedTuple):
    """A loss, an optimizer and a number of one of them.

    Attributes:
        loss: its name.
        optimizer: its name.
        number: section and key of the number; empty if there is none.
        values: of the number that the pilot tries.
        rates: learning rates that it tries.
        value: of the number, and
        rate: the learning rate: those that are right most often in the pilot on unseen sentences;
            of two within .01 of one another the higher rate, which fits more sentences in time.
    """

    loss: str
    optimizer: str
    number: tuple[str, ...] = ()
    values: Sequence[float] = ()
    rates: Sequence[float] = (5e-4, 1e-3, 2e-3, 4e-3)
    value: float = 0.0
    rate: float = 0.0


LAM = ("loss", "lam")
RECIPES: Mapping[str, Recipe] = {
    "cross-entropy": Recipe("cross_entropy", "adamw", rate=4e-3),
    "E1": Recipe("e1", "adamw", LAM, (1.0, 4.0), (1e-3, 4e-3), value=4.0, rate=4e-3),
    "weight decay": Recipe(
        "cross_entropy",
        "adamw",
        ("optim", "weight_decay"),
        (0.3, 3.0),
        (5e-4, 2e-3),
        value=3.0,
        rate=2e-3,
    ),
    "Muon": Recipe("cross_entropy", "muon", rates=(1e-3, 3e-3, 1e-2, 3e-2), rate=1e-2),
    "Muon, E1": Recipe("e1", "muon", LAM, (1.0, 4.0), (3e-3, 1e-2), value=4.0, rate=1e-2),
}


def studies(scale: str) -> list[Study]:
    """A study for each recipe and number of sentences.

    Raises:
        ExperimentError: the scale has none.
    """
    if scale == "smoke":
        return [_study(name, n, smoke=True) for name, n in (("cross-entropy", 64), ("E1", 128))]
    if scale == "pilot":
        return on_pilot_data([_study(name, PILOT_STRINGS, tuned=False) for name in RECIPES])
    if scale != "cpu":
        raise ExperimentError(f"{NAME} has no scale {scale!r}: smoke, pilot or cpu")
    return [_study(name, strings) for strings in STRINGS for name in RECIPES]


def _study(name: str, strings: int, *, tuned: bool = True, smoke: bool = False) -> Study:
    """The runs of a recipe at its number and rate, or at all that the pilot tries."""
    recipe = RECIPES[name]
    config = get_config(f"loss={recipe.loss},optimizer={recipe.optimizer}" + ",smoke" * smoke)
    config.task.num_train = strings
    config.task.world.seed = 0 if tuned else PILOT_SEED
    config.sweep.optim.peak_lr = (recipe.rate,) if tuned else tuple(recipe.rates)
    if recipe.number:
        section, key = recipe.number
        config.sweep[section][key] = (recipe.value,) if tuned else tuple(recipe.values)
    if not smoke:
        config.train.update(num_updates=NUM_UPDATES, log_every=250, eval_every=500, seeds=SEEDS)
        config.eval = {"test": 4_096}
    factors: dict[str, Any] = {"recipe": name, "num_train": strings}
    return Study(config, factors)


run = partial(run_sweep, NAME, studies=studies, metrics=METRICS, curves=CURVES)
