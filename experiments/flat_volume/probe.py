"""The local learning coefficient of a network on its training strings, at one training loss.

Logits are scaled until the training cross-entropy is ``MATCHED_CE``, as in flat_elearn. Chains move
in units of each leaf's root mean square, so that a network with small weights, such as one with
decay, is not moved relatively further. The experiment's runs import this module; their config names
it.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.curvature import local_learning_coefficient
from el_jax.losses import cross_entropy, masked_mean, token_stats
from el_jax.probes import PROBES
from el_jax.probes.over_runs import over_runs
from el_jax.process.compilation import Once
from el_jax.tasks import Task
from el_jax.types import Batch, Key, ModelFns, Params, Probe
from experiments.flat_elearn.probe import matching_scale

MATCHED_CE = 0.01  # nats
N_BETA, STEP_SIZE = 1_000.0, 1e-3  # an excess of λ / 1,000 nats, of the order of MATCHED_CE
WINDOWS = 32  # in a minibatch


class Chains(NamedTuple):
    """What is varied of the chains: how tightly they are held, how many there are."""

    localisation: float
    num_chains: int


CHAINS = {"learning_coefficient": Chains(10.0, 4), "learning_coefficient_tight": Chains(100.0, 2)}
_SEED = 0  # of minibatches and noise, the same in every run


def volume(task: Task, model: ModelFns) -> Probe:
    """Probe the learning coefficients of ``CHAINS`` and ``logit_scale``.

    NaN if no scale of the logits has a training cross-entropy of ``MATCHED_CE``.
    """
    data = Once(lambda: task.pack(task.train_set()))()

    def of_run(params: Params, data: Batch) -> dict[str, Array]:
        logits = model.apply(params, data, None)
        flat = logits.reshape(-1, logits.shape[-1])
        scale = matching_scale(flat, data.labels.reshape(-1), MATCHED_CE)
        units = jax.tree.map(lambda leaf: jnp.sqrt(jnp.square(leaf).mean()), params)

        def loss(moved: Params, key: Key) -> Array:
            chosen = jax.random.choice(key, len(data.labels), (WINDOWS,), replace=False)
            batch = jax.tree.map(lambda leaf: leaf[chosen], data)
            there = jax.tree.map(lambda p, unit, u: p + unit * u, params, units, moved)
            stats = token_stats(scale * model.apply(there, batch, None), batch.labels)
            return masked_mean(cross_entropy(stats), batch.mask)

        def coefficient(chains: Chains) -> Array:
            return local_learning_coefficient(
                loss,
                jax.tree.map(jnp.zeros_like, params),
                jax.random.key(_SEED),
                n_beta=N_BETA,
                step_size=STEP_SIZE,
                **chains._asdict(),
            ).mean

        found = {name: coefficient(chains) for name, chains in CHAINS.items()}
        return found | {"logit_scale": scale}

    return over_runs(of_run, data, one_by_one=True)


PROBES["volume"] = volume
