"""The course of training on the copy task: easy strings, hard strings, and the mechanism."""

from functools import partial

import numpy as np

from configs.el.copy import get_config
from el_jax.training.metrics import Row
from el_jax.training.sinks import History
from experiments.harness.studies import Study
from experiments.harness.sweep import fitting, run_sweep

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
    *(f"train_{group}_{m}" for group in ("easy", "hard") for m in ("ce", "accuracy")),
    *(f"test_{group}_accuracy" for group in ("easy", "hard")),
    *COURSE,
    *("train_ce_std", "train_stratified", "train_stratified_by_accuracy"),
    *MECHANISM,
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
    """Cross-entropy and E2, each without and with warm-up, evaluated every 100 updates."""
    size = {"smoke": "smoke", "paper": "scale=paper"}.get(scale, "scale=small")
    chosen = []
    for loss in ("cross_entropy", "e2"):
        config = get_config(f"loss={loss},{size}")
        config.sweep.optim.warmup_steps = (0, 20 if scale == "smoke" else 1000)
        config.train.update(
            seeds={"smoke": 2, "cpu": 8, "paper": 10}[scale],
            eval_every=config.train.log_every,
            probes=("stratification", "swap", "attention_mass"),
        )
        config.eval.update(test=64 if scale == "smoke" else 400)
        chosen.append(Study(config))
    return chosen


run = partial(
    run_sweep, "el_copy_anatomy", studies=studies, metrics=METRICS, curves=CURVES, extras=course
)
