"""Cross-entropy, with and without qk-norm, and E1 over two decades of learning rates."""

from functools import partial

from experiments.el_methods.run import WARM_UP, config_of
from experiments.harness.studies import Study
from experiments.harness.sweep import fitting, run_sweep

METRICS = [
    *(f"{s}_{group}_accuracy" for s in ("train", "test_precise") for group in ("easy", "hard")),
    *("test_precise_ce", "swap_copies", "swap_undoes_shift", "fitted_step"),
]
CURVES = ["swap_copies"]
RATES = (5e-4, 1.6e-3, 5e-3, 1.6e-2, 5e-2)
WARM_UPS = (0, WARM_UP)
RECIPES = (("cross_entropy", False), ("cross_entropy", True), ("e1", False))  # loss, qk_norm
SEEDS, FIRST_SEED = 12, 174  # data sets that no experiment has trained on


def studies(scale: str) -> list[Study]:
    """A study for each loss, and for cross-entropy with qk-norm."""
    return [_study(*recipe, smoke=scale == "smoke") for recipe in RECIPES]


def _study(loss: str, qk_norm: bool, *, smoke: bool) -> Study:
    config = config_of(f"loss={loss}", smoke=smoke)
    config.seed = config.task.data_seed = FIRST_SEED
    config.model.qk_norm = qk_norm
    config.sweep.optim.update(peak_lr=RATES, warmup_steps=WARM_UPS)
    if loss == "e1":
        config.loss.lam = 1.0
    if smoke:
        config.sweep.optim.update(peak_lr=RATES[1:3], warmup_steps=(0, config.optim.warmup_steps))
    else:
        config.train.seeds = SEEDS
    return Study(config, {"qk_norm": int(qk_norm)})


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=fitting)
