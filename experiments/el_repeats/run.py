"""Four recipes on sentences of a world, new ones or half of them from a pool read many times."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from configs.flatness.masked import get_config
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import run_sweep

METRICS = [
    *("kl", "kl_copied", "kl_guessed", "copied_accuracy"),
    *("prefix_matching", "prefix_matching_mean", "train_ce", "entropy"),
]
CURVES = ["kl", "copied_accuracy"]
NAMES = {"kl_river": "kl_copied", "kl_hill": "kl_guessed", "river_accuracy": "copied_accuracy"}

NUM_UPDATES, SENTENCES = 2_000, 32
POOLS = (32, 96, 256, 768, 2_048, 8_192)  # sentences that half of every update repeats
WORST = 256  # the pool that costs most, in the pilot
NEW, LEFT_OUT = "all new", "half left out"  # without a pool; and without the half of a pool
REPEATED = "half repeated"
SEEDS, FIRST_SEED = 8, 186  # of network and data; no experiment has trained on them


class Recipe(NamedTuple):
    """A loss, an optimizer and a number of one of them, chosen on pilot seeds.

    Attributes:
        loss: its name.
        optimizer: its name.
        rates: learning rates that the pilot tries.
        rate: the one with the least divergence on new sentences.
        number: section and key of the number; empty if there is none.
        values: values that the pilot tries.
        value: the one with the least divergence there; of decay, the largest.
    """

    loss: str
    optimizer: str
    rates: Sequence[float]
    rate: float
    number: tuple[str, ...] = ()
    values: Sequence[float] = ()
    value: float = 0.0


RECIPES: Mapping[str, Recipe] = {
    "cross-entropy": Recipe("cross_entropy", "adamw", (1e-3, 3e-3, 1e-2), 3e-3),
    "E1": Recipe("e1", "adamw", (3e-3,), 3e-3, ("loss", "lam"), (0.25, 1.0), 0.25),
    "weight decay": Recipe(
        "cross_entropy", "adamw", (3e-3,), 3e-3, ("optim", "weight_decay"), (0.1, 0.3, 1.0), 1.0
    ),
    "Muon": Recipe("cross_entropy", "muon", (1e-3, 3e-3, 1e-2), 1e-2),
}


def studies(scale: str) -> list[Study]:
    """A study for each recipe and mixture; cross-entropy has every pool."""
    if scale == "smoke":
        return [_study("cross-entropy", *m, smoke=True) for m in ((LEFT_OUT, 0), (REPEATED, 32))]
    if scale == "pilot":
        chosen = [(name, m) for name in RECIPES for m in ((NEW, 0), (REPEATED, WORST))]
        chosen += [("cross-entropy", (REPEATED, pool)) for pool in POOLS[1:4] if pool != WORST]
        return on_pilot_data([_study(name, *mixture, pilot=True) for name, mixture in chosen])
    mixtures = [(NEW, 0), (LEFT_OUT, 0), *((REPEATED, pool) for pool in POOLS)]
    first, *others = RECIPES
    return [
        *(_study(first, *mixture) for mixture in mixtures),
        *(_study(name, *m) for name in others for m in ((LEFT_OUT, 0), (REPEATED, WORST))),
    ]


def _study(
    name: str, mixture: str, pool: int, *, pilot: bool = False, smoke: bool = False
) -> Study:
    """The runs of a recipe on a mixture."""
    recipe = RECIPES[name]
    arguments = f"task=causal,world=periodic,loss={recipe.loss},optimizer={recipe.optimizer}"
    config = get_config(arguments + ",smoke" * smoke)
    update = config.task.sentences_per_update if smoke else SENTENCES
    config.task.sentences_per_update = update // 2 if mixture == LEFT_OUT else update
    config.task.update(num_train=pool, fresh_share=0.5 if pool else 0.0)
    config.sweep.optim.peak_lr = tuple(recipe.rates) if pilot else (recipe.rate,)
    if recipe.number:
        section, key = recipe.number
        config.sweep[section][key] = tuple(recipe.values) if pilot else (recipe.value,)
    config.train.probes = ("true_conditional", "river_hill", "prefix_matching")
    if not smoke:
        config.seed = config.task.data_seed = FIRST_SEED
        config.optim.warmup_steps = NUM_UPDATES * 6 // 100
        config.train.update(num_updates=NUM_UPDATES, eval_every=200, seeds=SEEDS)
    factors: dict[str, Any] = {"recipe": name, "mixture": mixture, "pool": pool}
    return Study(config, factors, NAMES)


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES)
