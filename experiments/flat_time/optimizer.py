"""The experiment's own optimizer under its name, for ``config.imports``."""

from el_jax.training.optimizers import OPTIMIZERS
from experiments.flat_time.phases import adamw_then

OPTIMIZERS["adamw_then"] = adamw_then
