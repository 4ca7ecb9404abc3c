"""One star learnt by heart under every loss, and the geometry of what was learnt."""

from pathlib import Path

from configs.el.star_in_weights import get_config
from el_jax import build
from experiments.el_star_in_weights.settings import (
    CONTROLS,
    EDGE_ACCURACY,
    EDGE_CE,
    FROZEN,
    GEOMETRY,
    HELD_OUT,
    NEIGHBOURS,
    RATES,
    RECALLED,
    SLOW,
    SPECTRAL,
    TINY,
    UNTOLD,
    WIDE,
)
from experiments.harness.discovery import ExperimentError
from experiments.harness.shards import WHOLE, Shard
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

METRICS = [
    *(RECALLED, EDGE_CE, EDGE_ACCURACY, *GEOMETRY, NEIGHBOURS, HELD_OUT),
    *("train_branch_accuracy", "train_branch_ce", "train_edge_margin", "train_ce"),
    *(f"test_{place}_accuracy" for place in ("branch", "last_node")),
    *("test_branch_ce", "test_branch_margin"),
]
CURVES = [EDGE_CE, SPECTRAL, RECALLED, HELD_OUT]
STARS = {TINY: "tiny", WIDE: "wide"}  # of the config
RATES_OF = {TINY: (), WIDE: (RATES[WIDE], RATES[SLOW])}
E2_STRENGTH = {TINY: 2.0, WIDE: 20.0}
LOSSES = ("cross_entropy", "e1", "e2", "e3")
WARM_UP = {"smoke": 10, "cpu": 100}  # updates
SEEDS = {"smoke": 2, "cpu": 5}
PROBE = "experiments.el_star_in_weights.probe"  # registers star_geometry
OPTIMIZER = "experiments.el_star_in_weights.optimizer"  # registers adamw_frozen_table


def studies(scale: str) -> list[Study]:
    """Every loss on every star, and the controls.

    Raises:
        ExperimentError: there is no paper scale.
    """
    if scale == "paper":
        raise ExperimentError("el_star_in_weights has no paper scale: the paper has no such table")
    chosen = [_of_loss(scale, star, loss) for star in STARS for loss in LOSSES]
    for star, controls in CONTROLS.items():
        for control in controls:
            config = config_of(scale, star, "untold" if control == UNTOLD else "")
            if control == FROZEN:
                config.optim.name = "adamw_frozen_table"
            chosen.append(Study(config, f", {control}, {star}"))
    return chosen


def config_of(scale: str, star: str, argument: str = "") -> build.Config:
    """The training of one setting, with warm-up."""
    size = "smoke" if scale == "smoke" else ""
    config = get_config(",".join(filter(None, (f"star={STARS[star]}", argument, size))))
    config.optim.warmup_steps = WARM_UP[scale]
    config.train.update(seeds=SEEDS[scale], probes=("star_geometry",))
    config.imports = (PROBE, OPTIMIZER)
    return config


def _of_loss(scale: str, star: str, loss: str) -> Study:
    config = config_of(scale, star, f"loss={loss}")
    if loss == "e2":
        config.loss.lam = E2_STRENGTH[star]
    config.sweep.optim.update(warmup_steps=(0, WARM_UP[scale]), peak_lr=RATES_OF[star])
    return Study(config, f", {star}")


def run(scale: str, out: Path, shard: Shard = WHOLE) -> None:
    """Train and write the tables."""
    run_sweep(
        "el_star_in_weights", scale, out, studies(scale),
        metrics=METRICS, curves=CURVES, extras=None, shard=shard,
    )  # fmt: skip
