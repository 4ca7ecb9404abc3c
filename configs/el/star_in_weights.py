"""A path-star graph memorised in the weights (Noroozizadeh et al. 2025, arXiv 2510.26745).

    python -m el_jax.train --config=configs/el/star_in_weights.py:loss=e1 --workdir=runs/known_star

Arguments after the colon: ``loss=NAME``, ``optimizer=NAME``, ``star=tiny|wide`` (tiny: 4 arms of 5
nodes, trained on edges alone as in the paper's notebooks; wide: 64 arms of 4 nodes, edges and paths
in one update as in its large stars, a quarter of the arms held out), ``untold`` (the edges of
held-out arms are left out, so that nothing reveals their paths), ``smoke`` (seconds, for a first
look).

The tiny star is trained as in the notebooks: one layer, one head, width 32, no weight decay, all
edges in each of 500 updates, at a learning rate of .01 that falls to 0 (linearly, here). The wide
star's sizes are ours.

Cost: 300 updates of one run of the wide star take 4 to 8 s on one CPU core without compilation.
Expect, for the tiny star's edges in both directions: an accuracy of .531 (a node has one answer at
a time) at .694 nats (the notebooks: .531, .696; the least possible is .693). Eight to nine of
ten held-out wide-star paths are right; at a rate of .003, six to seven
(experiments/el_star_in_weights).
"""

from ml_collections import ConfigDict

from configs import common

STARS = {  # degree, nodes of an arm, arms held out, updates
    "tiny": (4, 5, 1, 500),
    "wide": (64, 4, 16, 300),
}


def get_config(arg: str | None = None) -> ConfigDict:
    """The config; see the module's docstring for the argument."""
    given = common.parse_arg(
        arg,
        loss="cross_entropy",
        optimizer="adamw",
        star="tiny",
        untold=False,
        smoke=False,
    )
    if given.star not in STARS:
        raise ValueError(f"star={given.star!r}: must be one of {', '.join(STARS)}")
    degree, path_length, held_out, num_updates = STARS[given.star]
    config = ConfigDict({"seed": 0, "parallel": common.PARALLEL})
    config.task = common.task(
        "star_in_weights",
        degree=degree,
        path_length=path_length,
        num_held_out=held_out,
        asked="edges" if given.star == "tiny" else "edges and paths",
        untold=given.untold,
    )
    config.loss = common.loss(given.loss)
    rates = dict.fromkeys(("embedding_dropout", "attention_dropout", "residual_dropout"), 0.0)
    config.model = common.model(
        "gpt2", num_layers=1, width=32, num_heads=1, max_length=2 + path_length, **rates
    )
    config.optim = common.optim(given.optimizer, peak_lr=1e-2, schedule="linear")
    config.optim.warmup_steps = 100 if given.loss in common.E_LOSSES else 0
    config.train = common.train(num_updates, log_every=50, eval_every=100)
    config.eval = {"test": held_out}
    config.sweep = common.sweep(config)
    if given.smoke:
        _make_small(config)
    return config


def _make_small(config: ConfigDict) -> None:
    """Shrink the training to seconds: enough to see that everything runs, not to learn."""
    config.task.update(degree=min(config.task.degree, 6), num_held_out=1)
    config.model.width = 16
    config.optim.warmup_steps = min(config.optim.warmup_steps, 10)
    config.train.update(num_updates=40, seeds=2, log_every=10, eval_every=20)
    config.train.checkpoint_every = 20
    config.eval = {"test": 1}
