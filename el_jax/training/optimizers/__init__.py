"""Optimizers whose numbers may be traced and so may differ between the runs of one program.

A method is one file, ``method(learning_rate, *, <numbers>) -> optax.GradientTransformation``, and
one line of ``OPTIMIZERS``. Every method has the numbers of the learning rate (``schedules``) and
the bound on the gradient's norm (``clipping.clipped``) besides its own.
"""

from el_jax.training.optimizers.choice import OptimizerConfig, make_optimizer, optimizer_numbers
from el_jax.training.optimizers.methods import OPTIMIZERS
