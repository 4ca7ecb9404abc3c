"""Copy networks with every loss, with and without warm-up; the curvature at the end."""

from functools import partial

from configs.el.copy import get_config
from experiments.flat_elearn.probe import FISHER, MATCHED, MEASURES
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

SPLITS = ("train", "test", "test_precise")
METRICS = [
    *(f"{split}_{group}_accuracy" for split in SPLITS for group in ("easy", "hard")),
    *MEASURES,
    *(MATCHED + measure for measure in MEASURES),
    *("logit_scale", "training_ce"),
]
CURVES = ["test_hard_accuracy", FISHER, MATCHED + FISHER]
LOSSES = ("cross_entropy", "e1", "e2", "e3")
B2 = 0.999  # Adam's β₂ at which E-losses led in accuracy (experiments/README.md, log)
WARM_UP = {"smoke": (0, 20), "cpu": (0, 1000), "paper": (0, 1000)}  # updates
EVALUATIONS = {"smoke": 2, "cpu": 3, "paper": 5}
SEEDS = {"smoke": 2, "cpu": 12, "paper": 10}
FIRST_SEED = 20  # the experiment that the setting comes from had seeds 0 to 7
PROBE = "experiments.flat_elearn.probe"  # registers matched_curvature


def studies(scale: str) -> list[Study]:
    """Every loss without and with warm-up, one string a window."""
    return [_study(scale, loss) for loss in LOSSES]


def _study(scale: str, loss: str) -> Study:
    size = {"smoke": "smoke", "paper": "scale=paper"}.get(scale, "scale=small")
    config = get_config(f"loss={loss},strings_per_window=1,{size}")
    config.seed = config.task.data_seed = FIRST_SEED
    config.optim.update(warmup_steps=0, b2=B2)
    if scale == "cpu":
        config.task.num_train = 400
        config.model.update(width=32, num_layers=3)
        config.train.num_updates = 7_500
    config.sweep.optim.warmup_steps = WARM_UP[scale]
    config.train.seeds = SEEDS[scale]
    config.train.eval_every = config.train.num_updates // EVALUATIONS[scale]
    config.train.probes = ("matched_curvature",)
    config.imports = (PROBE,)
    return Study(config)


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES)
