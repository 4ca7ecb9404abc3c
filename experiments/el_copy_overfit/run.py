"""The paper's 400 strings and 400 epochs at width 64, in two arms."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from configs.el.copy import get_config
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import fitting, run_sweep

METRICS = [
    *(
        f"{split}_{group}_accuracy"
        for split in ("train", "test_precise")
        for group in ("easy", "hard")
    ),
    *("swap_copies", "swap_undoes_shift"),
    *("fitted_step", "hard_accuracy_when_fitted", "rectified_afterwards"),
]
CURVES = ["train_hard_accuracy", "test_easy_accuracy", "test_hard_accuracy", "swap_copies"]

WARM_UP = (0, 1_000)  # updates, 5 %
RATES = (8e-4, 1.6e-3)  # 5e-5 and 1e-4 at width 1024, times 1024 / 64
RATE = RATES[1]  # in the pilot, cross-entropy without warm-up gets more hard strings right at it
SEEDS = 10


class Arm(NamedTuple):
    """An arm's changes to the protocol.

    Attributes:
        b2: decay of AdamW's second moment.
        losses: the losses of its studies.
    """

    b2: float
    losses: Sequence[str]


ARMS = {
    "protocol": Arm(0.999, ("cross_entropy", "e1", "e2")),
    "short memory": Arm(0.95, ("cross_entropy", "e1")),
}


def studies(scale: str) -> list[Study]:
    """A study for each loss of each arm."""
    if scale == "smoke":
        return [_study("protocol", loss, (RATE,), smoke=True) for loss in ("cross_entropy", "e1")]
    if scale == "quick":
        return [_quick(loss) for loss in ("cross_entropy", "e1")]
    if scale == "pilot":
        return _pilot()
    return [_study(name, loss, (RATE,)) for name, arm in ARMS.items() for loss in arm.losses]


def _quick(loss: str) -> Study:
    """A quarter of the protocol's updates, with warm-up; training strings are fitted by then."""
    study = _study("protocol", loss, (RATE,))
    study.config.train.update(num_updates=5_000, log_every=250, seeds=8)
    study.config.sweep.optim.warmup_steps = WARM_UP[1:]
    return study


def _pilot() -> list[Study]:
    """The protocol at both rates, E-losses only with warm-up; two data sets, never reported."""
    chosen = on_pilot_data([_study("protocol", loss, RATES) for loss in ARMS["protocol"].losses])
    for study in chosen[1:]:
        study.config.sweep.optim.warmup_steps = WARM_UP[1:]
    return chosen


def _study(name: str, loss: str, rates: Sequence[float], *, smoke: bool = False) -> Study:
    arm = ARMS[name]
    config = get_config(f"loss={loss},scale=narrow,strings_per_window=1" + ",smoke" * smoke)
    config.optim.update(warmup_steps=0, b2=arm.b2)
    config.sweep.optim.update(peak_lr=tuple(rates), warmup_steps=WARM_UP)
    config.train.probes = ("stratification", "swap")
    if smoke:
        config.sweep.optim.warmup_steps = (0, config.train.num_updates // 2)
    else:
        config.train.update(num_updates=20_000, log_every=500, eval_every=1_000, seeds=SEEDS)
        config.eval = {"test": 400, "test_precise": 4_000}
    return Study(config, {"arm": name})


run = partial(
    run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=fitting, max_marks=21
)
