"""Any task, model, loss and optimizer by name, each with its own defaults.

    python -m el_jax.train --config=configs/by_name.py:task=copy,model=lstm --workdir=runs/copy_lstm

Arguments after the colon: ``task``, ``model`` (a preset of the transformer, or another model),
``loss``, ``optimizer``. With ``--import=FILE`` they may also name one from a file of your own:

    python -m el_jax.train --import=my_task.py --config=configs/by_name.py:task=my_task ...

Published settings have their own config files (see configs/el/copy.py). By default a small
transformer trains with five seeds for 2,000 updates, at a constant learning rate of 1e-3 after 100
of warm-up. The Pythia suite (``model=pythia_70m`` to ``pythia_12b``) has its own sizes.
"""

from ml_collections import ConfigDict

from configs import common
from el_jax.models import FAMILIES


def get_config(arg: str | None = None) -> ConfigDict:
    """The config; see the module's docstring for the argument."""
    given = common.parse_arg(
        arg, task="copy", model="gpt_neox", loss="cross_entropy", optimizer="adamw"
    )
    config = ConfigDict({"seed": 0, "parallel": common.PARALLEL})
    config.task = common.task(given.task)
    config.loss = common.loss(given.loss)
    small = {"width": 64, "num_layers": 2, "num_heads": 2} if given.model in FAMILIES else {}
    config.model = common.model(given.model, **small)
    config.optim = common.optim(given.optimizer, peak_lr=1e-3, warmup_steps=100)
    config.train = common.train(num_updates=2_000, log_every=50, eval_every=250)
    config.eval = {"test": 256}
    config.sweep = common.sweep(config)
    return config
