"""Masked language models of several widths, each trained for several numbers of updates."""

import dataclasses
from functools import partial

import numpy as np

from configs.flatness.masked import get_config
from el_jax import build
from el_jax.models import TransformerConfig
from el_jax.models.surgery import replication
from el_jax.training.sinks import History
from el_jax.types import Row
from experiments.flat_size.probe import GROUPS
from experiments.flat_time.run import ACCURACIES, LABELS, WORLDS, names_of
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

CONVENTIONS = {"trace_released": 1.0, "trace_balanced": 0.5, "trace_matrices": None, "trace": None}
"""Ways to count the trace of a network as that of one of the largest width, by their metric: s of
``el_jax.models.surgery`` as a power of 1/k; None without embedding."""
METRICS = [
    *("kl", "kl_sem", "entropy"),
    *(*ACCURACIES, *CONVENTIONS, *(f"fisher_{group}" for group in GROUPS)),
    *(f"{accuracy}_{rate}" for accuracy in ACCURACIES for rate in ("majority", "bayes")),
]
CURVES = ["kl", *ACCURACIES]
TABLE_4 = {  # width: layers, neurons of an MLP
    128: (4, 512),
    192: (5, 768),
    320: (6, 1024),
    384: (7, 2048),
    640: (12, 3072),
    960: (16, 4096),
    1920: (20, 5120),
}
# scale: width: numbers of updates; narrow networks need more of them
LENGTHS: dict[str, dict[int, tuple[int, ...]]] = {
    "smoke": dict.fromkeys((8, 16), (20, 40)),
    "cpu": {
        16: (1_500, 3_000, 6_000),
        32: (1_000, 2_000, 4_000),
        64: (800, 1_600, 3_200),
        128: (600, 1_200, 2_400),
    },
    "paper": dict.fromkeys(TABLE_4, (7_500, 15_000, 30_000)),
}
WIDEST = {scale: max(widths) for scale, widths in LENGTHS.items()}  # which the others divide
HEAD_SIZE = {"smoke": 4, "cpu": 16, "paper": 64}
NUM_LAYERS = {"smoke": 1, "cpu": 2}
# worlds whose truth small networks come near, chosen for that on other seeds
EASY: dict[str, dict[str, float]] = {
    "pcfg": {"symbols_per_level": 2, "vocab_size": 12, "words_per_symbol": 6, "num_roots": 4},
    "hmm": {"num_states": 6, "vocab_size": 12, "num_blocks": 2, "concentration": 0.5},
}
RATE = 3e-3
SENTENCES = 128  # an update
SEEDS = {"smoke": 2, "cpu": 6, "paper": 5}
PROBE = "experiments.flat_size.probe"  # registers size_traces


def studies(scale: str) -> list[Study]:
    """Every width and length in both worlds."""
    return [
        _study(scale, world, width, length)
        for world in WORLDS
        for width, lengths in LENGTHS[scale].items()
        for length in lengths
    ]


def _study(scale: str, world: str, width: int, length: int) -> Study:
    config = config_of(scale, world, width, length)
    where = {"world": world, "width": width, "num_updates": length}
    extras = partial(numbers, factors=factors_of(config, WIDEST[scale]))
    return Study(config, where, names=names_of(LABELS[scale][world]), extras=extras)


def config_of(scale: str, world: str, width: int, length: int) -> build.Config:
    """The training of one width; its learning rate ends at 0."""
    size = {"smoke": "smoke", "cpu": "scale=small", "paper": "scale=paper"}[scale]
    config = get_config(f"world={world},{size}")
    config.model.update(width=width, num_heads=width // HEAD_SIZE[scale])
    if scale == "paper":
        config.model.num_layers, config.model.mlp_width = TABLE_4[width]
    else:
        config.model.num_layers = NUM_LAYERS[scale]
    config.task.downstream = LABELS[scale][world]
    if scale == "cpu":
        config.optim.update(peak_lr=RATE, warmup_steps=min(150, length // 10))
        config.task.world.update(EASY[world])
        config.task.sentences_per_update = SENTENCES
    config.train.update(num_updates=length, seeds=SEEDS[scale])
    config.train.eval_every = config.train.checkpoint_every = length
    config.train.probes = ("true_conditional", "downstream", "size_traces")
    config.imports = (PROBE,)
    return config


def factors_of(config: build.Config, widest: int) -> dict[str, dict[str, float]]:
    """By convention, the factors on each group's trace from embedding in the widest network."""
    small = build.parse(config).model_config
    assert isinstance(small, TransformerConfig)
    k = widest // small.width
    small = dataclasses.replace(small, num_layers=1)  # all layers have the same factors
    # with its own number of neurons: further ones are zero and have no trace
    neurons = small.mlp_width and k * small.mlp_width
    large = dataclasses.replace(
        small, width=widest, num_heads=k * small.num_heads, mlp_width=neurons
    )
    found = {}
    for name, power in CONVENTIONS.items():
        if power is None:
            kept = ("matrices",) if name == "trace_matrices" else GROUPS
            found[name] = {group: float(group in kept) for group in GROUPS}
        else:
            plan = replication(small, large, k**-power).values()
            found[name] = {replica.group: replica.fisher_factor for replica in plan}
    return found


def numbers(history: History, factors: dict[str, dict[str, float]]) -> Row:
    """The final trace by every convention, ``[R]`` by name."""
    traces = {group: history.curve(f"fisher_{group}")[1][-1] for group in GROUPS}
    return {
        name: np.sum([f * traces[group] for group, f in factor.items()], axis=0)
        for name, factor in factors.items()
    }


run = partial(run_sweep, studies=studies, metrics=METRICS, curves=CURVES)
