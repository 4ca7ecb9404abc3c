"""Three of el_methods' recipes in wider networks, each at a rate that suits the width."""

from functools import partial

from configs.el.copy import get_config
from experiments.el_methods.run import CURVES, METHODS, METRICS, study_of
from experiments.harness.studies import Study, on_pilot_data
from experiments.harness.sweep import fitting, run_sweep

METHOD_NAMES = ("cross-entropy", "E1", "weight decay")
WIDTHS = (64, 128, 256)
PILOT_WIDTH, EXPONENTS = 128, (0, 1)  # exponents of 64 / width in the learning rate
CHOSEN = dict.fromkeys(METHOD_NAMES, 1)  # by the pilot
SEEDS = 5
PAPER_WIDTHS, PAPER_STRINGS = (1024, 2048, 3072, 4096), (1, 2, 4, 8)  # contexts of 55 to 440


def studies(scale: str) -> list[Study]:
    """A study for each width and recipe; at the paper scale, cross-entropy at each context."""
    if scale == "smoke":
        return [_study(name, width, 1, smoke=True) for name in METHOD_NAMES for width in (16, 32)]
    if scale == "pilot":
        pilot = [_study(name, PILOT_WIDTH, e) for name in METHOD_NAMES for e in EXPONENTS]
        return on_pilot_data(pilot)
    if scale == "paper":
        return [_published(strings, width) for strings in PAPER_STRINGS for width in PAPER_WIDTHS]
    return [_study(name, width, CHOSEN[name]) for width in WIDTHS for name in METHOD_NAMES]


def _study(name: str, width: int, exponent: int, *, smoke: bool = False) -> Study:
    """A recipe at a width; weight decay grows as the rate falls, so its effect per update stays."""
    method, factor = METHODS[name], (WIDTHS[0] / width) ** exponent
    decay = (method.value / factor,) if method.kind == "optimizer" else ()
    study = study_of(name, decay, (method.rate * factor,), smoke=smoke)
    study.config.model.width = width
    if not smoke:
        study.config.train.seeds = SEEDS
    return Study(study.config, {**study.factors, "width": width})


def _published(strings: int, width: int) -> Study:
    """A width and context of Figure 1b, the rate proportional to one over the width."""
    config = get_config(f"scale=paper,strings_per_window={strings}")
    config.optim.peak_lr *= config.model.width / width
    config.model.width = width
    return Study(config, {"strings_per_window": strings, "width": width})


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=fitting)
