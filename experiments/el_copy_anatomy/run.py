"""The course of training on the copy task: easy strings, hard strings, and the mechanism."""

from functools import partial

import numpy as np

from configs.el.copy import get_config
from el_jax.training.metrics import Row
from el_jax.training.sinks import History
from experiments.el_methods.run import study_of
from experiments.harness.studies import Study
from experiments.harness.sweep import fitting, run_sweep

METHOD_NAMES = ("cross-entropy", "E1", "weight decay")
SEEDS = 14
MECHANISM = ("swap_copies", "swap_undoes_shift", "attention_on_answer", "attention_on_padding")
AT_FIRST = ("train_easy_ce", "train_hard_ce", "train_easy_accuracy", "train_hard_accuracy")
COURSE = ("train_ce_gap", "train_margin_std", "train_hard_gradient_share")
GROUPS = ("easy", "hard")
METRICS = [
    *(f"{s}_{g}_accuracy" for s in ("train", "test", "test_precise") for g in ("easy", "hard")),
    *(f"{metric}_at_first" for metric in AT_FIRST),
    *(f"mean_{metric.removeprefix('train_')}" for metric in COURSE),
    "mean_accuracy_gap",
    *("fitted_step", "hard_accuracy_when_fitted", "rectified_afterwards"),
    *("ever_stratified", "ever_stratified_by_accuracy"),
    *MECHANISM,
]
CURVES = [
    *("train_easy_accuracy", "train_hard_accuracy", "train_hard_gradient_share"),
    *("test_easy_accuracy", "test_hard_accuracy"),
    *("swap_copies", "swap_undoes_shift"),
]


def course(history: History) -> Row:
    """Metrics of the whole course of training."""

    def mean(metric: str) -> np.ndarray:
        return history.curve(metric)[1].mean(0)

    first = {f"{m}_at_first": history.curve(m)[1][0] for m in AT_FIRST}
    means = {f"mean_{m.removeprefix('train_')}": mean(m) for m in COURSE}
    ever = {
        f"ever_{m}": history.curve(f"train_{m}")[1].max(0)
        for m in ("stratified", "stratified_by_accuracy")
    }
    easy, hard = (mean(f"train_{group}_accuracy") for group in GROUPS)
    return first | means | ever | {"mean_accuracy_gap": easy - hard} | fitting(history)


def studies(scale: str) -> list[Study]:
    """Cross-entropy, E1 and heavy decay, evaluated every 100 updates; Figure 2's at its size."""
    if scale == "paper":
        configs = {loss: get_config(f"loss={loss},scale=paper") for loss in ("cross_entropy", "e2")}
        for config in configs.values():
            config.sweep.optim.warmup_steps = (0, 1_000)
        return [_watched(Study(config)) for config in configs.values()]
    chosen = [_watched(study_of(name, smoke=scale == "smoke")) for name in METHOD_NAMES]
    if scale == "cpu":
        for study in chosen:
            study.config.train.seeds = SEEDS
    return chosen


def _watched(study: Study) -> Study:
    train = study.config.train
    train.update(
        eval_every=min(100, train.eval_every),
        log_every=min(100, train.log_every),
        probes=("stratification", "swap", "attention_mass"),
    )
    return study


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=course)
