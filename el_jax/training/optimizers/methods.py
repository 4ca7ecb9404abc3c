"""The optimizers, by the name a config gives."""

from collections.abc import Callable

import optax

from el_jax.training.optimizers.adamw import adamw
from el_jax.training.optimizers.lion import lion
from el_jax.training.optimizers.muon import muon
from el_jax.training.optimizers.noisy_adamw import noisy_adamw
from el_jax.training.optimizers.sam import sam
from el_jax.training.optimizers.schedule_free import schedule_free
from el_jax.training.optimizers.sgd import sgd
from el_jax.training.optimizers.signum import signum
from el_jax.training.optimizers.sophia import sophia

OPTIMIZERS: dict[str, Callable[..., optax.GradientTransformation]] = {
    "adamw": adamw,
    "lion": lion,
    "muon": muon,
    "noisy_adamw": noisy_adamw,
    "sam": sam,
    "schedule_free": schedule_free,
    "sgd": sgd,
    "signum": signum,
    "sophia": sophia,
}
