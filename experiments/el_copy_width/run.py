"""Cross-entropy at ever larger widths, everything else the same."""

from functools import partial

from experiments.el_copy_context.run import CURVES, METRICS, study_of
from experiments.harness.studies import Study
from experiments.harness.sweep import fitting, run_sweep

WIDTHS = {
    "smoke": (16, 32),
    "cpu": (32, 64, 128),
    "paper": (1024, 2048, 3072, 4096),
}
STRINGS_PER_WINDOW = {"paper": (1, 2, 4, 8)}  # contexts of 55 to 440 tokens; elsewhere 110


def studies(scale: str) -> list[Study]:
    """The studies of a scale; the peak learning rate is proportional to one over the width."""
    chosen = []
    for packed in STRINGS_PER_WINDOW.get(scale, (2,)):
        for width in WIDTHS[scale]:
            config = study_of(scale, strings_per_window=packed).config
            own_width = 32 if scale == "smoke" else config.model.width  # that its rate is meant for
            config.optim.peak_lr *= own_width / width
            config.model.width = width
            chosen.append(Study(config, {"strings_per_window": packed, "width": width}))
    return chosen


run = partial(
    run_sweep, "el_copy_width", studies=studies, metrics=METRICS, curves=CURVES, extras=fitting
)
