"""The copy task under E1 at many strengths, with alphabets of many sizes."""

from functools import partial

import numpy as np
from jaxtyping import Float

from experiments.el_methods.run import config_of
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import fitting, run_sweep

PROBE = "experiments.el_equilibria.probe"  # registers small_margins
METRICS = [
    *(f"{s}_{group}_accuracy" for s in ("train", "test_precise") for group in ("easy", "hard")),
    *("small_margins", "median_margin", "train_hard_ce", "swap_copies", "fitted_step"),
]
CURVES = ["small_margins"]
MARKERS = 3  # classes besides the letters
ALPHABETS = (26, 100, 500, 2_000)
STRENGTHS = (0.5, 0.75, 1.0, 1.25, 1.75, 2.5, 4.0)
WARM_UP = (0, 500)
NUM_UPDATES, RATE = 3_000, 5e-3
SEEDS, FIRST_SEED = 5, 140  # data sets for which nothing was tuned


def penalties(margins: Float[np.ndarray, " n"], num_classes: int) -> Float[np.ndarray, " n"]:
    """The λ at which each margin is stationary for a token whose wrong logits are equal.

    E1's slope in the margin m is -(1 - p) + λ 2m / (1 + m²), p = 1 / (1 + (V - 1) exp(-m)).
    """
    wrong = 1 / (1 + np.exp(margins) / (num_classes - 1))
    return wrong * (1 + margins**2) / (2 * margins)


def window(num_classes: int) -> tuple[float, float]:
    """The λ between which a token has two equilibria; two equal numbers if there are none."""
    margins = np.linspace(0.5, 30, 60_000)
    strengths = penalties(margins, num_classes)
    rises = np.flatnonzero(np.diff(strengths) > 0)
    if not rises.size:
        return (np.nan, np.nan)
    return float(strengths[rises[0]]), float(strengths[rises[-1] + 1])


def studies(scale: str) -> list[Study]:
    """A study for each alphabet, over strengths and warm-up."""
    if scale == "smoke":
        return [_study(26, smoke=True)]
    found = [_study(size) for size in ALPHABETS]
    return on_pilot_data(found) if scale == "pilot" else found


def _study(alphabet: int, *, smoke: bool = False) -> Study:
    config = config_of("loss=e1", smoke=smoke)
    config.seed = config.task.data_seed = FIRST_SEED
    config.imports = (PROBE,)
    config.task.alphabet_size = alphabet
    config.optim.peak_lr = RATE
    config.train.probes = ("stratification", "swap", "small_margins")
    if not smoke:
        config.sweep.loss.lam = STRENGTHS
        config.sweep.optim.warmup_steps = WARM_UP
        config.train.update(num_updates=NUM_UPDATES, eval_every=500, seeds=SEEDS)
    return Study(config, {"num_classes": alphabet + MARKERS})


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=fitting)
