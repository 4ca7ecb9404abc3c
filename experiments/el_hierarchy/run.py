"""Five recipes on 256 to 2,048 sentences of random hierarchies, for equally many updates."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from configs.el.hierarchy import get_config
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import run_sweep

METRICS = ["train_label_accuracy", "test_label_accuracy", "train_label_ce", "test_label_ce"]
CURVES = ["train_label_accuracy", "test_label_accuracy"]

STRINGS = (256, 512, 1_024, 2_048)  # from about C m^L = 216, the paper's number
PILOT = {"strings": 2_048, "rules_per_symbol": 4}  # harder: C m^L = 512
SEEDS = 4  # five were planned; stopped for lack of time, see the page


class Recipe(NamedTuple):
    """A loss, an optimizer and a number of one of them.

    Attributes:
        loss: its name.
        optimizer: its name.
        number: section and key of the number; empty if there is none.
        values: values of the number that the pilot tries.
        rates: learning rates that the pilot tries.
        value: value of the number; with ``rate``, the pair with the highest accuracy on unseen
            sentences in the pilot.
        rate: the learning rate; .001 if rates are within .02 of one another.
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
    "cross-entropy": Recipe("cross_entropy", "adamw", rate=1e-3),
    "E1": Recipe("e1", "adamw", LAM, (1.0, 4.0), (1e-3, 4e-3), value=4.0, rate=1e-3),
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
    """A study for each recipe and number of sentences."""
    if scale == "smoke":
        return [_study(name, n, smoke=True) for name, n in (("cross-entropy", 64), ("E1", 128))]
    if scale == "pilot":
        return on_pilot_data([_study(name, pilot=True) for name in RECIPES])
    return [_study(name, strings) for strings in STRINGS for name in RECIPES]


def _study(name: str, strings: int = 0, *, pilot: bool = False, smoke: bool = False) -> Study:
    """The runs of a recipe at its number and rate, or at all that the pilot tries."""
    recipe = RECIPES[name]
    config = get_config(f"loss={recipe.loss},optimizer={recipe.optimizer}" + ",smoke" * smoke)
    config.task.num_train = strings or PILOT["strings"]
    if pilot:
        config.task.world.rules_per_symbol = PILOT["rules_per_symbol"]
    config.sweep.optim.peak_lr = tuple(recipe.rates) if pilot else (recipe.rate,)
    if recipe.number:
        section, key = recipe.number
        config.sweep[section][key] = tuple(recipe.values) if pilot else (recipe.value,)
    if not smoke:
        config.train.update(log_every=250, eval_every=500, seeds=SEEDS)
        config.eval = {"test": 4_096}
    factors: dict[str, Any] = {"recipe": name, "num_train": config.task.num_train}
    return Study(config, factors)


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES)
