"""Cross-entropy and E1 with other neighbours in the window, other padding, other easy shares."""

from functools import partial
from typing import Any

from configs.el.copy import get_config
from experiments.el_methods.run import CURVES, METRICS, study_of
from experiments.harness.studies import Study
from experiments.harness.sweep import fitting, run_sweep

METHOD_NAMES = ("cross-entropy", "E1")
SEEDS = 5  # six were planned; the run was stopped for lack of time, see the page
TOKENS = 55  # per string: contexts of 55, 110, 220 and 440
BASE: dict[str, Any] = {  # while another factor varies
    "strings_per_window": 1,
    "padding_length": 50,
    "easy_fraction": 0.8,
    "supervise": "answer",
}
LEVELS: dict[str, tuple[float, ...]] = {
    "strings_per_window": (1, 2, 4, 8),
    "padding_length": (10, 25, 50, 100),
    "easy_fraction": (0.0, 0.5, 0.8, 0.9),
}


def studies(scale: str) -> list[Study]:
    """A study for each factor alone, and cross-entropy with the loss on all tokens."""
    if scale == "paper":
        losses = ("cross_entropy", "e1")
        return [_published(loss, int(n)) for n in LEVELS["strings_per_window"] for loss in losses]
    num = 2 if scale == "smoke" else None
    changes: list[dict[str, Any]] = [{}]
    changes += [
        {factor: value}
        for factor, values in LEVELS.items()
        for value in values[:num]
        if value != BASE[factor]
    ]
    chosen = [_study(scale, name, change) for change in changes for name in METHOD_NAMES]
    return [*chosen, _study(scale, "cross-entropy", {"supervise": "all"})]


def _study(scale: str, name: str, change: dict[str, Any]) -> Study:
    """A recipe as el_methods tuned it, with a factor of ``BASE`` changed."""
    study = study_of(name, smoke=scale == "smoke")
    study.config.task.update(BASE | change)
    if scale == "cpu":
        study.config.train.seeds = SEEDS
    return Study(study.config, {**study.factors, **BASE, **change})


def _published(loss: str, strings: int) -> Study:
    """A context of Figure 1a."""
    config = get_config(f"loss={loss},scale=paper,strings_per_window={strings}")
    return Study(config, {"strings_per_window": strings})


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=fitting)
