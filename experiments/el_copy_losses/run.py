"""Cross-entropy and E-losses at several strengths, with and without warm-up."""

from collections.abc import Mapping, Sequence
from functools import partial

from configs.el.copy import get_config
from experiments.harness.studies import Study
from experiments.harness.sweep import fitting, run_sweep

METRICS = [
    *(f"{s}_{group}_accuracy" for s in ("train", "test_precise") for group in ("easy", "hard")),
    *("test_precise_easy_exact_match", "test_precise_hard_exact_match"),
    *("train_hard_margin", "swap_copies", "swap_undoes_shift", "fitted_step"),
]
# the accuracies are per letter (CL); Figure 4 has exact matches (EM) as well
CURVES = [f"{s}_hard_{m}" for s in ("train", "test") for m in ("accuracy", "exact_match")]

RATE = 5e-3  # chosen by el_methods' pilot for all four losses
COLD_RATES = (5e-4, 1.6e-3, RATE, 1.6e-2)  # for cross-entropy without warm-up: the pilot's
NUM_UPDATES, WARM_UP = 4_000, (0, 500)
COLD = {"e1": {"lam": (4.0,)}}  # a row of Table 3 without warm-up
PAPER_WARM_UP, SHORT_WARM_UP = (0, 1_000), 500  # the latter of E2 and E3 in Figure 5
# The paper searched powers of 2 and chose 4 for E1; its Figure 4 has E2 at 10. It omits E3's b.
STRENGTHS: dict[str, dict[str, tuple[float, ...]]] = {
    "cross_entropy": {},
    "e1": {"lam": (0.5, 1.0, 2.0, 4.0, 8.0)},
    "e2": {"lam": (0.1, 1.0, 10.0)},
    "e3": {"b": (0.3, 1.0)},
}
# with 500 letters, as in the last row of Table 3
MANY_LETTERS: dict[str, dict[str, tuple[float, ...]]] = {
    "cross_entropy": {},
    "e1": {"lam": (1.0,)},
    "e2": {"lam": (10.0,)},
    "e3": {"b": (1.0,)},
}
FEW, MANY = {"alphabet_size": 26, "copy_length": 1}, {"alphabet_size": 500, "copy_length": 5}
SEEDS = 12


def studies(scale: str) -> list[Study]:
    """A study for each loss over its strengths, without warm-up, and with 500 letters."""
    if scale == "smoke":
        return [_study(loss, {}, FEW, smoke=True) for loss in STRENGTHS]
    if scale == "paper":
        return [
            *(_published(loss, grid, PAPER_WARM_UP) for loss, grid in STRENGTHS.items()),
            *(_published(loss, {}, (SHORT_WARM_UP,)) for loss in ("e2", "e3")),
            *(_published(*item, PAPER_WARM_UP, MANY) for item in MANY_LETTERS.items()),
        ]
    return [
        *(_study(loss, grid, FEW) for loss, grid in STRENGTHS.items()),
        *(_study(loss, grid, FEW, WARM_UP[:1]) for loss, grid in COLD.items()),
        _over_rates(_study("cross_entropy", {}, FEW, WARM_UP[:1])),
        *(_study(loss, grid, MANY) for loss, grid in MANY_LETTERS.items()),
    ]


def _study(
    loss: str,
    grid: Mapping[str, Sequence[float]],
    letters: Mapping[str, int],
    warm_up: Sequence[int] = WARM_UP[1:],
    *,
    smoke: bool = False,
) -> Study:
    """The paper's 400 strings at width 64; with 500 letters, 800 strings and twice the updates."""
    config = get_config(f"loss={loss},scale=narrow" + ",smoke" * smoke)
    config.sweep.loss.update(grid)
    config.sweep.optim.warmup_steps = warm_up
    config.optim.peak_lr = RATE
    config.train.probes = ("stratification", "swap")
    if smoke:
        config.sweep.optim.warmup_steps = (0, config.train.num_updates // 2)
        return Study(config, {key: config.task[key] for key in letters})
    twice = 1 + (letters is MANY)
    config.task.update(letters, num_train=400 * twice)
    config.train.update(
        num_updates=NUM_UPDATES * twice, log_every=500, eval_every=1_000, seeds=SEEDS
    )
    config.eval = {"test": 400, "test_precise": 4_000}
    return Study(config, letters)


def _over_rates(study: Study) -> Study:
    """The same study at each of ``COLD_RATES``."""
    study.config.sweep.optim.peak_lr = COLD_RATES
    return study


def _published(
    loss: str,
    grid: Mapping[str, Sequence[float]],
    warm_up: Sequence[int],
    letters: Mapping[str, int] = FEW,
) -> Study:
    """The paper's setting of section 4: padding of 2,000 letters, 5 to copy."""
    config = get_config(f"loss={loss},scale=paper,long")
    config.sweep.loss.update(grid)
    config.sweep.optim.warmup_steps = tuple(warm_up)
    if letters is MANY:
        config.task.update(alphabet_size=500, num_train=2 * config.task.num_train)
    return Study(config, {key: config.task[key] for key in letters})


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES, extras=fitting)
