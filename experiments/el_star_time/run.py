"""Path-star graphs for three times as long as in el_path_star: losses, objectives, a curriculum."""

from functools import partial

import numpy as np

from el_jax.training.sinks import History
from el_jax.types import Row
from experiments.el_path_star.claims import ABOVE_CHANCE, EXACT_MATCH, chance
from experiments.el_path_star.run import config_of, study_of
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

GRAPH = "G(5,3)"
CURRICULUM = 1_500  # updates over which the goal moves from the branch to the end of its arm
OBJECTIVES = {  # by the argument of configs/el/path_star.py
    "cross-entropy": "loss=cross_entropy",
    "E1 λ=1": "loss=e1",
    "multi-token heads": "future=multi_token",
    "masked diffusion": "teacher=diffusion",
    "belief-state pairs": "future=belief_state",
    "curriculum": f"curriculum={CURRICULUM}",
}
NUM_UPDATES, EVERY = 4_800, 200  # el_path_star has 1,600
SEEDS = 10
FOUND_STEP = "found_step"
CURVES = [EXACT_MATCH]
METRICS = [EXACT_MATCH, "test_branch_accuracy", "train_branch_accuracy", FOUND_STEP]


def found_at(history: History) -> Row:
    """The first evaluation above 1/d + .1, in updates; NaN for a run without one."""
    steps, values = history.curve(EXACT_MATCH)  # [looks], [looks, R]
    found = np.asarray(values) > chance(GRAPH) + ABOVE_CHANCE
    first = np.asarray(steps, float)[found.argmax(0)]
    return {FOUND_STEP: np.where(found.any(0), first, np.nan)}


def studies(scale: str) -> list[Study]:
    """A study for each objective, all with warm-up."""
    configs = [config_of(scale, GRAPH, argument) for argument in OBJECTIVES.values()]
    for config in configs:
        if scale == "cpu":
            config.train.update(num_updates=NUM_UPDATES, eval_every=EVERY, seeds=SEEDS)
        if config.loss.name == "e1":
            config.loss.lam = 1.0
    return [study_of(config) for config in configs]


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=found_at)
