"""Some 80 hard training strings among 0, 80, 320 and 720 easy ones, under three recipes."""

from functools import partial

from experiments.el_methods.run import CURVES, METRICS, NUM_UPDATES, STRINGS, study_of
from experiments.harness.discovery import ExperimentError
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import fitting, run_sweep

NAME = "el_easy_strings"
METHODS = ("cross-entropy", "E1", "weight decay")
NUM_TRAIN = {0.0: 80, 0.5: 160, 0.8: STRINGS, 0.9: 800}  # by the share of easy strings
TRIED = (1.6e-3, 5e-3)
CHOSEN = {("E1", 0.0): 1.6e-3, ("E1", 0.5): 1.6e-3}  # the pilot's; elsewhere el_methods' is best
SEEDS, FIRST_SEED = 12, 162  # data sets that no experiment has trained on


def updates_of(easy: float, equal: str) -> int:
    """Updates of 8 strings: equally many, or as many passes over the hard strings."""
    return NUM_UPDATES if equal == "updates" else NUM_UPDATES * NUM_TRAIN[easy] // STRINGS


def studies(scale: str) -> list[Study]:
    """A study for each recipe, share of easy strings, and what is kept equal.

    Raises:
        ExperimentError: the scale has none.
    """
    if scale == "smoke":
        return [_study(METHODS[0], easy, "updates", smoke=True) for easy in (0.0, 0.5)]
    if scale == "pilot":
        return on_pilot_data(
            [_study(name, easy, "updates", rates=TRIED) for name in METHODS for easy in NUM_TRAIN]
        )
    if scale != "cpu":
        raise ExperimentError(f"{NAME} has no scale {scale!r}: smoke, pilot or cpu")
    return [
        _study(name, easy, equal)
        for equal in ("updates", "passes")
        for name in METHODS
        for easy, strings in NUM_TRAIN.items()
        if equal == "updates" or strings != STRINGS  # there both are equal
    ]


def _study(
    name: str, easy: float, equal: str, rates: tuple[float, ...] = (), *, smoke: bool = False
) -> Study:
    """The runs of a recipe."""
    chosen = CHOSEN.get((name, easy))
    study = study_of(name, rates=rates or ((chosen,) if chosen else ()), smoke=smoke)
    config = study.config
    config.seed = config.task.data_seed = FIRST_SEED
    config.task.update(easy_fraction=easy, num_train=NUM_TRAIN[easy])
    updates = updates_of(easy, equal)
    if not smoke:
        config.train.update(seeds=SEEDS, num_updates=updates)
        config.optim.warmup_steps = config.optim.warmup_steps * updates // NUM_UPDATES
        config.train.update(log_every=updates // 8, eval_every=updates // 4)
    counts = {"num_train": NUM_TRAIN[easy], "num_updates": updates}
    passes = updates * config.task.strings_per_update // NUM_TRAIN[easy]
    return Study(config, {**study.factors, **counts, "passes": passes})


run = partial(run_sweep, NAME, studies=studies, metrics=METRICS, curves=CURVES, extras=fitting)
