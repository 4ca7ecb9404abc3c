"""The experiment's own optimizer under its name, for ``config.imports``."""

from el_jax.training.optimizers import OPTIMIZERS
from experiments.el_star_in_weights.frozen import adamw_frozen_table

OPTIMIZERS["adamw_frozen_table"] = adamw_frozen_table
