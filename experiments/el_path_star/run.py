"""Path-star graphs under every loss, and under changes known to solve them."""

from functools import partial

from configs.el.path_star import get_config
from el_jax import build
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

GRAPHS = {"G(2,3)": (2, 3), "G(5,3)": (5, 3)}  # arms; nodes of an arm, the start included
# changes to inputs or targets, all under cross-entropy with warm-up
CONTROLS = {
    "reversed path": {"order": "reversed"},
    "no teacher": {"teacher": "none"},
    "masked tokens": {"teacher": "masked"},
    "multi-token heads": {"future": "multi_token"},
    "bag of future tokens": {"future": "bag"},
    "token order": {"future": "token_order"},
    "next latent": {"future": "next_latent"},
}
METRICS = [
    "test_exact_match",
    *(
        f"{split}_{place}_accuracy"
        for split in ("train", "test")
        for place in ("branch", "last_node")
    ),
    "test_start_accuracy",
    "test_branch_margin",
    "test_branch_ce",
    "test_last_node_ce",
]
CURVES = ["test_exact_match", "test_branch_accuracy", "test_last_node_accuracy", "test_branch_ce"]
NUMBERS = {  # the loss's numbers; each value is a setting
    "cross_entropy": {},
    "e1": {"lam": (1.0, 0.25)},
    "e2": {"lam": (2.0,)},  # acts as λ / V on each squared margin, and V is 16
    "e3": {"b": (1.0,)},
    "label_smoothing": {"smoothing": (0.1,)},
}
WARM_UP = {"smoke": 20, "cpu": 300, "paper": 1000}  # updates
SEEDS = {"smoke": 2, "cpu": 5, "paper": 5}
NUM_UPDATES, GRAPHS_PER_UPDATE = 1_600, 64  # at the cpu scale


def studies(scale: str) -> list[Study]:
    """Every loss without and with warm-up (label smoothing: with), and every control with it."""
    chosen = []
    for graph in GRAPHS:
        for loss, numbers in NUMBERS.items():
            config = config_of(scale, graph, f"loss={loss}")
            config.sweep.loss.update(numbers)
            if loss != "label_smoothing":
                config.sweep.optim.warmup_steps = (0, WARM_UP[scale])
            chosen.append(study_of(config))
        for control in CONTROLS.values():
            ((key, value),) = control.items()
            chosen.append(study_of(config_of(scale, graph, f"{key}={value}")))
    return chosen


def study_of(config: build.Config) -> Study:
    """The study of a config; its factors name graph, order, teacher and objective."""
    keys = ("degree", "path_length", "order", "teacher")
    future = {"future": config.future.name} if "future" in config else {}
    stages = {"curriculum": config.task.curriculum} if config.task.curriculum else {}
    return Study(config, {key: config.task[key] for key in keys} | future | stages)


def config_of(scale: str, graph: str, argument: str) -> build.Config:
    """The training of one setting, with warm-up."""
    degree, length = GRAPHS[graph]
    size = {"smoke": "smoke", "cpu": "scale=small", "paper": "scale=paper"}[scale]
    config = get_config(f"degree={degree},path_length={length},{argument},{size}")
    config.optim.warmup_steps = WARM_UP[scale]
    config.train.seeds = SEEDS[scale]
    if scale == "cpu":
        config.task.graphs_per_update = GRAPHS_PER_UPDATE
        config.train.update(num_updates=NUM_UPDATES, eval_every=NUM_UPDATES // 8)
        config.train.checkpoint_every = config.train.eval_every
    return config


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES)
