"""One star memorised under every loss, and the geometry of the learnt table."""

from functools import partial

from configs.el.star_in_weights import get_config
from el_jax import build
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

METRICS = [
    *("edges_recalled", "train_edge_ce", "train_edge_accuracy"),
    *("spectral_share", "same_arm_cosine", "neighbour_cosine", "test_exact_match"),
    *("train_branch_accuracy", "train_branch_ce", "train_edge_margin", "train_ce"),
    *(f"test_{place}_accuracy" for place in ("branch", "last_node")),
    *("test_branch_ce", "test_branch_margin"),
]
CURVES = ["train_edge_ce", "spectral_share", "edges_recalled", "test_exact_match"]
RATES = {"tiny": (0.01,), "wide": (0.01, 0.003)}  # by star; controls have the first
# acts as λ / V on each squared margin, and V is 20 on the tiny star and 196 on the wide one
E2_LAM = {"tiny": 2.0, "wide": 20.0}
LOSSES = ("cross_entropy", "e1", "e2", "e3")
FROZEN = "adamw_frozen_table"  # the embeddings stay at initialisation
WARM_UP = {"smoke": 10, "cpu": 100}  # updates
SEEDS = {"smoke": 2, "cpu": 10}
PROBE = "experiments.el_star_in_weights.probe"  # registers star_geometry
OPTIMIZER = "experiments.el_star_in_weights.optimizer"  # registers adamw_frozen_table


def studies(scale: str) -> list[Study]:
    """Every loss on every star, and the controls, under cross-entropy with warm-up."""
    chosen = [_of_loss(scale, star, loss) for star in RATES for loss in LOSSES]
    for star in RATES:
        config = config_of(scale, star)
        config.optim.name = FROZEN
        chosen.append(_study(config, star))
    return [*chosen, _study(config_of(scale, "wide", "untold"), "wide")]


def config_of(scale: str, star: str, argument: str = "") -> build.Config:
    """The training of one setting, with warm-up."""
    size = "smoke" if scale == "smoke" else ""
    config = get_config(",".join(filter(None, (f"star={star}", argument, size))))
    config.optim.warmup_steps = WARM_UP[scale]
    config.sweep.optim.peak_lr = RATES[star][:1]
    config.train.update(seeds=SEEDS[scale], probes=("star_geometry",))
    config.imports = (PROBE, OPTIMIZER)
    return config


def _of_loss(scale: str, star: str, loss: str) -> Study:
    config = config_of(scale, star, f"loss={loss}")
    if loss == "e2":
        config.loss.lam = E2_LAM[star]
    config.sweep.optim.update(warmup_steps=(0, WARM_UP[scale]), peak_lr=RATES[star])
    return _study(config, star)


def _study(config: build.Config, star: str) -> Study:
    untold = int(config.task.untold)
    return Study(config, {"star": star, "optimizer": config.optim.name, "untold": untold})


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES)
