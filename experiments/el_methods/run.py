"""One change at a time to cross-entropy under AdamW, each tuned over four settings."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from configs.el.copy import get_config
from el_jax import build
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import fitting, run_sweep

METRICS = [
    *(f"{s}_{group}_accuracy" for s in ("train", "test_precise") for group in ("easy", "hard")),
    *("train_easy_margin", "train_hard_margin", "train_margin_std", "train_hard_ce"),
    *("swap_copies", "swap_undoes_shift", "fitted_step"),
]
CURVES = ["swap_copies"]

STRINGS = 400  # the paper's
NUM_UPDATES, WARM_UP = 4_000, 500
SEEDS = 12


class Method(NamedTuple):
    """One change to cross-entropy under AdamW.

    Attributes:
        kind: kind of the change.
        name: name of the loss, weighting or optimizer, or the entry of the config that is set.
        number: its main number; empty if it has none.
        values: values of that number that the pilot tries.
        rates: learning rates that the pilot tries.
        value: value of the number; with ``rate``, the pair that copies most in the pilot. Of a
            setting without a number, what it is set to.
        rate: the learning rate.
        schedule: of the learning rate, after warm-up.
    """

    kind: Literal["loss", "weighting", "optimizer", "setting"]
    name: str
    number: str = ""
    values: Sequence[float] = ()
    rates: Sequence[float] = (1.6e-3, 5e-3)
    value: Any = 0.0
    rate: float = 0.0
    schedule: str = "linear"


FOUR = (5e-4, 1.6e-3, 5e-3, 1.6e-2)
METHODS = {
    "cross-entropy": Method("loss", "cross_entropy", rates=FOUR, rate=0.005),
    "E1": Method("loss", "e1", "lam", (1.0, 4.0), value=1, rate=0.005),
    "E2": Method("loss", "e2", "lam", (1.0, 10.0), value=1, rate=0.005),
    "E3": Method("loss", "e3", "b", (1.0, 3.0), value=1, rate=0.005),
    "Dice": Method("loss", "dice", "alpha", (0.1, 0.5), value=0.5, rate=0.005),
    "label smoothing": Method(
        "loss", "label_smoothing", "smoothing", (0.05, 0.2), value=0.05, rate=0.005
    ),
    "confidence penalty": Method(
        "loss", "confidence_penalty", "beta", (0.1, 0.5), value=0.1, rate=0.005
    ),
    "MaxSup": Method("loss", "max_sup", "alpha", (0.1, 0.5), value=0.1, rate=0.005),
    "sigma damp": Method("loss", "sigma_damp", "temperature", (2.0, 5.0), value=2, rate=0.005),
    "marg log": Method("loss", "marg_log", "lam", (0.3, 1.0), value=0.3, rate=0.005),
    "logit penalty": Method("loss", "logit_penalty", "beta", (0.01, 0.1), value=0.01, rate=0.005),
    "comp-sum, τ > 1": Method("loss", "comp_sum", "tau", (1.3, 1.7), value=1.3, rate=0.005),
    "focal": Method("loss", "focal", "gamma", (1.0, 2.0), value=1, rate=0.005),
    "squentropy": Method("loss", "squentropy", rates=FOUR, rate=0.005),
    "Taylor softmax": Method("loss", "taylor_softmax", rates=FOUR, rate=0.005),
    "Z-loss": Method("loss", "z_spherical", "b", (2.0, 4.0), value=2, rate=0.005),
    "LinUpper": Method("weighting", "lin_upper", "r", (0.5, 1.0), value=0.5, rate=0.005),
    "extremes": Method("weighting", "extremes", "r", (0.5, 1.0), value=1, rate=0.005),
    "group DRO": Method(
        "weighting", "group_dro", "step_size", (0.01, 0.1), value=0.01, rate=0.0016
    ),
    "weight decay": Method("optimizer", "adamw", "weight_decay", (0.3, 3.0), value=3, rate=0.0016),
    "gradient noise": Method(
        "optimizer", "noisy_adamw", "noise", (1e-4, 1e-2), value=0.0001, rate=0.005
    ),
    "Muon": Method("optimizer", "muon", rates=(1e-3, 3e-3, 1e-2, 3e-2), rate=0.01),
    "Signum": Method("optimizer", "signum", rates=(1e-4, 3e-4, 1e-3, 3e-3), rate=0.001),
    "Lion": Method("optimizer", "lion", rates=(1e-4, 3e-4, 1e-3, 3e-3), rate=0.001),
    "Sophia": Method("optimizer", "sophia", rates=(1e-4, 3e-4, 1e-3, 3e-3), rate=0.001),
    "schedule-free": Method(
        "optimizer", "schedule_free", rates=FOUR, rate=0.016, schedule="constant"
    ),
    "WSD": Method("setting", "optim.schedule", rates=FOUR, value="wsd", rate=0.005),
    "dropout": Method(
        "setting", "model.residual_dropout", "dropout", (0.1, 0.3), value=0.1, rate=0.005
    ),
    "qk-norm": Method("setting", "model.qk_norm", rates=FOUR, value=True, rate=0.016),
}


def studies(scale: str) -> list[Study]:
    """A study for each method; in the pilot, also for each value that cannot be swept."""
    if scale == "smoke":
        return [study_of(name, smoke=True) for name in ("cross-entropy", "Dice", "LinUpper")]
    if scale == "cpu":
        return [study_of(name) for name in METHODS]
    return [study for name in METHODS for study in _pilot(name)]


def _pilot(name: str) -> list[Study]:
    """All settings of a method on two data sets."""
    method = METHODS[name]
    swept = method.kind in ("loss", "optimizer") or not method.number
    sets = [method.values] if swept else [(v,) for v in method.values]
    return on_pilot_data([study_of(name, values, method.rates) for values in sets])


def config_of(argument: str, *, smoke: bool) -> build.Config:
    """The experiment's setting, with this loss, weighting or optimizer."""
    config = get_config(f"{argument},scale=narrow" + ",smoke" * smoke)
    config.task.num_train = STRINGS
    config.optim.update(warmup_steps=WARM_UP, clip_norm=1.0, schedule="linear")
    config.train.probes = ("stratification", "swap")
    if smoke:
        config.optim.warmup_steps = config.train.num_updates // 2
    else:
        config.train.update(num_updates=NUM_UPDATES, log_every=500, eval_every=1_000, seeds=SEEDS)
        config.eval = {"test": 400, "test_precise": 4_000}
    return config


def study_of(
    name: str, values: Sequence[float] = (), rates: Sequence[float] = (), *, smoke: bool = False
) -> Study:
    """The runs of a method at these values of its number and rates, or at the chosen ones."""
    method = METHODS[name]
    values = values or (method.value or method.values[0],) if method.number else ()
    changed = "loss=cross_entropy" if method.kind == "setting" else f"{method.kind}={method.name}"
    config = config_of(changed, smoke=smoke)
    config.optim.schedule = method.schedule
    config.sweep.optim.peak_lr = tuple(rates or (method.rate or method.rates[0],))
    factors: dict[str, Any] = {"method": name}
    if method.kind == "setting":
        section, entry = method.name.split(".")
        config[section][entry] = values[0] if values else method.value
    elif method.kind == "weighting":
        (config.weighting[method.number],) = values
    elif values:
        section = "optim" if method.kind == "optimizer" else "loss"
        config.sweep[section][method.number] = tuple(values)
    if values and method.kind in ("setting", "weighting"):  # not swept, so not in the table yet
        factors[method.number] = values[0]
    return Study(config, factors)


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=fitting)
