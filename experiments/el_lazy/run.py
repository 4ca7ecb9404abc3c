"""The copy task under cross-entropy and E1 from the richest training to the laziest."""

from functools import partial

from experiments.el_methods.run import config_of
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import fitting, run_sweep

MODEL = "experiments.el_lazy.model"  # registers centred and laziness
METRICS = [
    *(f"{s}_{group}_accuracy" for s in ("train", "test_precise") for group in ("easy", "hard")),
    *("swap_copies", "swap_undoes_shift", "fitted_step", "kernel_drift", "parameter_drift"),
]
CURVES = ["swap_copies"]
SCALES = (0.25, 1.0, 4.0, 16.0)  # α
SWAPPED = ((1.0, 16.0), (16.0, 1.0))  # α, and the α whose learning rate it uses
RATE = 5e-3  # over α; at α = 1 the rate of both losses in el_methods
SEEDS, FIRST_SEED = 6, 80  # data sets that no experiment has trained on


def studies(scale: str) -> list[Study]:
    """A study for each loss and output scale; in the pilot, on two other data sets."""
    if scale == "smoke":
        return [_study("cross_entropy", 4.0, smoke=True)]
    found = [_study(loss, alpha) for loss in ("cross_entropy", "e1") for alpha in SCALES]
    found += [_study("cross_entropy", *swapped) for swapped in SWAPPED]
    return on_pilot_data(found) if scale == "pilot" else found


def _study(loss: str, alpha: float, rate_of: float | None = None, *, smoke: bool = False) -> Study:
    """The runs of a loss at a scale, with the learning rate of that scale or of another."""
    config = config_of(f"loss={loss}", smoke=smoke)
    config.seed = config.task.data_seed = FIRST_SEED
    config.imports = (MODEL,)
    sizes = {key: config.model[key] for key in ("width", "num_layers", "num_heads")}
    config.model = {"name": "centred", "output_scale": alpha, **sizes}
    config.optim.peak_lr = RATE / (rate_of or alpha)
    config.train.probes = ("stratification", "swap", "laziness")
    if loss == "e1":
        config.loss.lam = 1.0
    if not smoke:
        config.train.update(eval_every=config.train.num_updates // 2, seeds=SEEDS)
    return Study(config, {"alpha": alpha, "rate_of": rate_of or alpha})


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=fitting)
