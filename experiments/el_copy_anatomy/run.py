"""The course of training on the copy task: easy strings, hard strings, and the mechanism."""

from pathlib import Path

from configs.el.copy import get_config
from el_jax.training.metrics import Row
from el_jax.training.sinks import History
from experiments.harness.shards import WHOLE, Shard
from experiments.harness.studies import Study
from experiments.harness.sweep import fitting, mean_over_course, run_sweep

MECHANISM = ("swap_copies", "swap_undoes_shift", "attention_on_answer", "attention_on_padding")
AFTER_EPOCH_1 = ("train_easy_ce", "train_hard_ce", "train_easy_accuracy", "train_hard_accuracy")
COURSE = ("train_ce_gap", "train_margin_std", "train_hard_gradient_share")
METRICS = [
    *(f"{s}_{g}_accuracy" for s in ("train", "test", "test_precise") for g in ("easy", "hard")),
    *(f"{metric}_epoch_1" for metric in AFTER_EPOCH_1),
    *(f"mean_{metric.removeprefix('train_')}" for metric in COURSE),
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
    first = {f"{m}_epoch_1": history.curve(m)[1][0] for m in AFTER_EPOCH_1}
    means = {f"mean_{m.removeprefix('train_')}": mean_over_course(history, m) for m in COURSE}
    ever = {
        f"ever_{m}": history.curve(f"train_{m}")[1].max(0)
        for m in ("stratified", "stratified_by_accuracy")
    }
    return first | means | ever | fitting(history)


def studies(scale: str) -> list[Study]:
    """Cross-entropy without warm-up, and E1 with it; both are evaluated after every epoch."""
    size = {"smoke": "smoke", "paper": "scale=paper"}.get(scale, "scale=small")
    chosen = []
    for loss in ("cross_entropy", "e1"):
        config = get_config(f"loss={loss},{size}")
        if loss == "e1":
            config.loss.lam = 2.0  # the smallest power of 2 with one equilibrium margin at V=29
        config.train.update(
            seeds={"smoke": 2, "quick": 3, "cpu": 5, "paper": 10}[scale],
            eval_every=config.train.log_every,
            probes=("stratification", "swap", "attention_mass"),
        )
        config.eval.test = 64 if scale == "smoke" else 400
        chosen.append(Study(config))
    return chosen


def run(scale: str, out: Path, shard: Shard = WHOLE) -> None:
    """Train and write the tables."""
    run_sweep(
        "el_copy_anatomy", scale, out, studies(scale),
        metrics=METRICS, curves=CURVES, extras=course, shard=shard,
    )  # fmt: skip
