"""The random hierarchy model: the class of a sentence, from few sentences (Cagnetta et al. 2024).

    python -m el_jax.train --config=configs/el/hierarchy.py:loss=e1 --workdir=runs/hierarchy_e1

Arguments after the colon: ``depth=L`` (2^L words a sentence), ``synonyms=M`` of each symbol,
``strings=N`` (training sentences), ``loss=NAME``, ``optimizer=NAME``, ``model=NAME`` (a preset of
the transformer, or another model), ``smoke`` (seconds, for a first look). There are eight words and
eight classes; a deep network is reported to need some 8 M^L sentences (arXiv 2307.02129).

Cost: 3,000 updates of one run take about a minute on one CPU core. Expect: a run is right on all
training sentences and on .60 of unseen ones (experiments/el_hierarchy, four hierarchies).
"""

from ml_collections import ConfigDict

from configs import common
from el_jax.models import FAMILIES


def get_config(arg: str | None = None) -> ConfigDict:
    """The config; see the module's docstring for the argument."""
    given = common.parse_arg(
        arg,
        depth=3,
        synonyms=3,
        strings=1_024,
        loss="cross_entropy",
        optimizer="adamw",
        model="gpt_neox",
        smoke=False,
    )
    config = ConfigDict({"seed": 0, "parallel": common.PARALLEL})
    world = common.world("random_hierarchy", depth=given.depth, rules_per_symbol=given.synonyms)
    config.task = common.task("label", world=world)
    config.task.update(num_train=given.strings, sentences_per_update=64)
    config.loss = common.loss(given.loss)
    sizes = {"width": 64, "num_layers": 3, "num_heads": 4} if given.model in FAMILIES else {}
    config.model = common.model(given.model, **sizes)
    config.optim = common.optim(given.optimizer, peak_lr=1e-3, warmup_steps=200, schedule="linear")
    config.optim.clip_norm = 1.0
    config.train = common.train(3_000, log_every=100, eval_every=500, checkpoint_every=1_000)
    config.eval = {"test": 2_048}
    config.sweep = common.sweep(config)
    if given.smoke:
        _make_small(config)
    return config


def _make_small(config: ConfigDict) -> None:
    """Shrink the training to seconds: enough to see that everything runs, not to learn."""
    if config.model.name == "transformer":
        config.model.update(width=16, num_layers=1, num_heads=2)
    config.optim.warmup_steps = 10
    config.task.update(num_train=64, sentences_per_update=16)
    config.train.update(num_updates=40, seeds=2, log_every=10, eval_every=20, checkpoint_every=20)
    config.eval = {"test": 64}
