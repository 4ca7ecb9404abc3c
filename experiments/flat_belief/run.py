"""Causal transformers on two hidden Markov models whose belief states are known."""

from functools import partial

from configs.flatness.masked import get_config
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

METRICS = [
    *("belief_r2", "belief_r2_of_word", "belief_r2_untrained", "belief_left"),
    *("belief_r2_of_layers", "belief_r2_of_layers_untrained"),
    *("kl", "entropy"),
]
CURVES = ["belief_left", "kl"]
RUNS: tuple[tuple[str, str, dict[str, int]], ...] = (
    ("mess3", "cross_entropy", {}),
    ("mess3", "e1", {}),
    ("mess3", "e2", {}),
    ("rrxor", "cross_entropy", {}),
    ("rrxor", "cross_entropy", {"num_layers": 4}),  # the paper's
)
SEEDS = 10  # of the network and its data
NUM_UPDATES = 3_000


def studies(scale: str) -> list[Study]:
    """Cross-entropy on both processes, on RRXOR also with four layers; E-losses on Mess3."""
    return [_study(*run, smoke=scale == "smoke") for run in RUNS]


def _study(world: str, loss: str, sizes: dict[str, int], *, smoke: bool) -> Study:
    config = get_config(f"task=causal,world={world},loss={loss}" + ",smoke" * smoke)
    config.model.update(sizes)
    config.train.probes = ("true_conditional", "belief")
    if not smoke:
        config.optim.warmup_steps = NUM_UPDATES * 6 // 100
        config.train.update(num_updates=NUM_UPDATES, eval_every=300, seeds=SEEDS)
    return Study(config, {"world": world} | sizes)


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES)
