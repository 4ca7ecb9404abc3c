"""Path-star graphs, GPT-2 from scratch (Yang, Puli, Ranganath 2025, section 5.1 and Table 1).

    python -m el_jax.train --config=configs/el/path_star.py:loss=e1 --workdir=runs/star_e1

Arguments after the colon: ``loss=NAME``, ``optimizer=NAME``, ``scale=small|paper``, ``size=NAME``
(layers / width / heads: tiny 2/64/2, the small scale's; mini 12/384/6, the paper's; readme 6/384/6,
from the README of Bachmann and Nagarajan's repository), ``degree=D``, ``path_length=L`` (nodes of
an arm with the start; the paper's G_{D,L}), ``order=reversed``, ``teacher=masked|none|diffusion``
(see el_jax/tasks/path_star.py; with diffusion, the model sees both sides), ``future=NAME`` (a
further objective on later tokens, from el_jax/training/objectives/future), ``curriculum=N`` (the
goal moves outwards along its arm for N updates), ``test_file=PATH``
(score on a test set of that repository; it needs the same graph and --config.task.num_nodes),
``smoke`` (seconds, for a first look).

The paper scale follows issue 3 of that repository on the original runs: 200,000 graphs of 50
labels (the last 64 of an epoch are left out here), and 500 epochs in batches of 256 at 5e-4. Weight
decay is .01. Warm-up takes 100 updates, or 1,000 with an E-loss. The paper states none of these.
"""

from ml_collections import ConfigDict

from configs import common

SIZES = {  # layers, width, heads
    "tiny": (2, 64, 2),
    "mini": (12, 384, 6),
    "readme": (6, 384, 6),
}

PROBES = ("greedy_goal",)  # Table 1's metric


def get_config(arg: str | None = None) -> ConfigDict:
    """The config; see the module's docstring for the argument."""
    given = common.parse_arg(
        arg,
        loss="cross_entropy",
        optimizer="adamw",
        scale="small",
        size="",  # the scale's own
        degree=2,
        path_length=3,
        order="forward",
        teacher="forced",
        future="",
        curriculum=0,
        test_file="",
        smoke=False,
    )
    of_task = ("degree", "path_length", "order", "teacher", "curriculum", "test_file")
    asked = {key: given[key] for key in of_task}
    config = ConfigDict({"seed": 0, "parallel": common.PARALLEL})
    config.task = common.task("path_star", **asked)
    config.loss = common.loss(given.loss)
    e_learning = given.loss in common.E_LOSSES  # E-LEARN combines loss and warm-up
    if given.scale == "small":
        config.task.num_nodes = max(12, 1 + given.degree * (given.path_length - 1))
        config.model = _model(given.size or "tiny")
        config.optim = common.optim(given.optimizer, peak_lr=1e-3)
        config.optim.warmup_steps = 1_000 if e_learning else 100
        config.train = common.train(4_000, log_every=100, eval_every=500, probes=PROBES)
        config.eval = {"test": 1_000}
    elif given.scale == "paper":
        config.task.num_train = 199_936  # whole updates of 256
        config.model = _model(given.size or "mini")
        config.optim = common.optim(given.optimizer, peak_lr=5e-4)
        config.optim.warmup_steps = 1_000 if e_learning else 100
        if "weight_decay" in config.optim:
            config.optim.weight_decay = 0.01
        config.train = common.train(390_500, log_every=100, eval_every=19_500, probes=PROBES)
        config.eval = {"test": 20_000}
    else:
        raise ValueError(f"scale={given.scale!r}: must be small or paper")
    if given.future:
        config.future = common.future(given.future)
    if given.teacher == "diffusion":
        config.model.causal = False
    config.sweep = common.sweep(config)
    if given.smoke:
        _make_small(config)
    return config


def _model(size: str) -> ConfigDict:
    """GPT-2 of a size, without dropout."""
    if size not in SIZES:
        raise ValueError(f"size={size!r}: must be one of {', '.join(SIZES)}")
    layers, width, heads = SIZES[size]
    rates = dict.fromkeys(("embedding_dropout", "attention_dropout", "residual_dropout"), 0.0)
    return common.model("gpt2", num_layers=layers, width=width, num_heads=heads, **rates)


def _make_small(config: ConfigDict) -> None:
    """Shrink the training to seconds: enough to see that everything runs, not to learn."""
    config.task.graphs_per_update = 16
    config.task.num_train = min(config.task.num_train, 64)
    config.model.update(width=16, num_layers=2, num_heads=2)
    config.optim.warmup_steps = min(config.optim.warmup_steps, 10)
    config.train.update(num_updates=40, seeds=2, log_every=10, eval_every=20)
    config.train.checkpoint_every = 20
    config.eval = {"test": 64}
