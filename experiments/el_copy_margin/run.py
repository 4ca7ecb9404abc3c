"""The copy task under losses of five families with their minima at the same margins."""

from functools import partial
from typing import NamedTuple

from experiments.el_methods.run import CURVES, METRICS, config_of
from experiments.harness.studies import Study
from experiments.harness.sweep import fitting, run_sweep

CE = "cross_entropy"
MARGINS = (4.0, 6.0, 9.0)  # nats between the label's logit and each of the 28 others
SEEDS, FIRST_SEED = 10, 50  # data sets that no experiment has trained on
RATE = 5e-3  # chosen by el_methods' pilot for every one of these families


class Family(NamedTuple):
    """A loss, its number, and the values that put its minimum at each of ``MARGINS``."""

    loss: str
    number: str
    values: tuple[float, ...]


FAMILIES = (
    Family("e1", "lam", (0.72, 0.2, 0.0157)),
    Family("e2", "lam", (1.27, 0.163, 0.00575)),
    Family("e3", "b", (2.0, 3.0, 4.5)),
    Family("label_smoothing", "smoothing", (0.351, 0.0672, 0.00357)),
    Family("dice", "alpha", (0.513, 0.0694, 0.00345)),
)


def studies(scale: str) -> list[Study]:
    """Cross-entropy, and a study for each family and margin."""
    families = FAMILIES if scale == "cpu" else FAMILIES[:2]
    return [_study(CE, smoke=scale == "smoke")] + [
        _study(family.loss, family.number, value, margin, smoke=scale == "smoke")
        for family in families
        for margin, value in zip(MARGINS, family.values, strict=True)
    ]


def _study(
    loss: str, number: str = "", value: float = 0.0, margin: float | None = None, *, smoke: bool
) -> Study:
    """The runs of a loss; cross-entropy, which has no margin, has no number."""
    config = config_of(f"loss={loss}", smoke=smoke)
    config.seed = config.task.data_seed = FIRST_SEED
    config.optim.peak_lr = RATE
    if not smoke:
        config.train.seeds = SEEDS
    if number:
        config.loss[number] = value
    return Study(config, {} if margin is None else {"margin": margin})


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=fitting)
