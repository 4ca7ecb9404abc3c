"""The experiment's own optimizer under its name, for ``config.imports``."""

from el_jax.training.optimizers import OPTIMIZERS
from experiments.el_copy_attribution.memory import adamw_switched

OPTIMIZERS["adamw_switched"] = adamw_switched
