"""Features that hold a label, and a run that is no longer finite."""

import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.probes import downstream
from el_jax.tasks import MaskedWords, PaddedCopy
from el_jax.types import ModelFns
from el_jax.worlds import choose_world

WORLD = choose_world(
    "hmm", {"num_states": 4, "vocab_size": 6, "length": 4, "num_blocks": 2, "concentration": 0.5}
)
TASK = MaskedWords(world=WORLD, downstream=("state_2",))
NUM = 2000


def model_of(features):
    return ModelFns(lambda key: jnp.zeros(()), lambda params, batch: params, features=features)


def posterior(params, batch):
    """The posterior of the state, as features of the first token; nothing of the others."""
    known = jnp.exp(WORLD.make().log_posteriors(batch.tokens[:, 1:])["state_2"])
    features = jnp.zeros((*batch.tokens.shape, known.shape[-1])).at[:, 0].set(known)
    return features * params


def test_the_posterior_reaches_the_bayes_rate_and_a_lost_run_is_nan():
    found = downstream(TASK, model_of(posterior), NUM).of_params(jnp.array([1.0, jnp.nan]))
    found = {name: np.asarray(values) for name, values in found.items()}
    accuracy, error = found["downstream_state_2"][0], found["downstream_state_2_sem"][0]
    assert found["downstream_state_2_bayes"][0] > found["downstream_state_2_majority"][0] + 0.1
    assert abs(accuracy - found["downstream_state_2_bayes"][0]) < 4 * max(error, 0.01)
    assert np.isnan(found["downstream_state_2"][1])
    assert np.isnan(found["downstream_state_2_sem"][1])


def test_every_label_is_read_unless_some_are_named():
    names = downstream(MaskedWords(world=WORLD), model_of(posterior), NUM).of_params(jnp.ones(1))
    assert {name for name in names if name.count("_") == 2} == {
        f"downstream_state_{t}" for t in range(1, 5)
    }


def test_what_cannot_be_probed_is_refused_in_one_line():
    with pytest.raises(ValueError, match="needs the task masked, not PaddedCopy"):
        downstream(PaddedCopy(), model_of(posterior))
    with pytest.raises(ValueError, match="needs a model with features"):
        downstream(TASK, model_of(None))
    with pytest.raises(
        ValueError, match=r"downstream=.*: must be among the world's labels state_1"
    ):
        MaskedWords(world=WORLD, downstream=("state_9",))
