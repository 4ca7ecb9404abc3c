"""The divergence from the true conditional: zero for the truth, known for a model that is known."""

import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.probes import true_conditional
from el_jax.tasks import MaskedWords, PaddedCopy
from el_jax.types import ModelFns
from el_jax.worlds import choose_world, every_sentence, exact_entropy_floor

WORLD = choose_world("hmm", {"num_states": 4, "vocab_size": 4, "length": 3, "num_blocks": 2})
TASK = MaskedWords(world=WORLD)


def model_of(log_probs_of):
    """A model whose logits are a function of the masked inputs and of its one parameter."""

    def apply(params, batch, key=None):
        del key
        known = log_probs_of(params, batch)
        special = jnp.full((*known.shape[:-1], 3), -jnp.inf)
        return jnp.concatenate([known, special], axis=-1)[:, None]

    return ModelFns(lambda key: jnp.zeros(()), apply)


def truth(params, batch):
    """The conditionals of the world: row t of a sentence does not depend on its word at t."""
    rows, places = jnp.arange(len(batch.tokens)), batch.supervised[:, 0] - 1
    words = jnp.where(batch.tokens < WORLD.make().vocab_size, batch.tokens, 0)[:, 1:]
    return WORLD.make().log_conditionals(words)[rows, places] + params


def uniform(params, batch):
    return jnp.zeros((len(batch.tokens), 4)) + params


def measured(log_probs_of, num=4096):
    probe = true_conditional(TASK, model_of(log_probs_of), num=num)
    values = probe.of_params(jnp.zeros(2))  # two runs
    return {name: np.asarray(value) for name, value in values.items()}


def test_the_truth_has_no_divergence():
    found = measured(truth)
    np.testing.assert_allclose(found["kl"], 0, atol=1e-6)
    np.testing.assert_allclose(found["kl_sem"], 0, atol=1e-6)


def test_entropy_and_divergence_are_those_over_every_sentence():
    found = measured(uniform)
    floor = float(exact_entropy_floor(WORLD.make()))
    # the cross-entropy of the uniform model is log V in every context
    np.testing.assert_allclose(found["kl"] + found["entropy"], np.log(4), rtol=1e-5)
    assert found["kl"].shape == (2,)
    error = found["kl_sem"][0]
    assert abs(found["entropy"][0] - floor) < 4 * error
    tokens, probability = every_sentence(WORLD.make())
    log_q = WORLD.make().log_conditionals(tokens)
    kl = jnp.where(jnp.exp(log_q) > 0, jnp.exp(log_q) * (log_q + np.log(4)), 0).sum(-1)
    occurs = probability > 0
    mean = (jnp.where(occurs[:, None], kl, 0) * probability[:, None]).sum() / 3
    variance = (jnp.where(occurs[:, None], (kl - mean) ** 2, 0) * probability[:, None]).sum() / 3
    np.testing.assert_allclose(error, np.sqrt(variance / 4096), rtol=0.1)


def test_words_are_masked_one_at_a_time_whatever_the_task():
    task = MaskedWords(world=WORLD, masking="bert")
    one, bert = (
        true_conditional(t, model_of(uniform), num=256).of_params(jnp.zeros(1))
        for t in (TASK, task)
    )
    np.testing.assert_array_equal(one["kl"], bert["kl"])


def test_another_task_is_refused():
    with pytest.raises(ValueError, match="needs the task masked, not PaddedCopy"):
        true_conditional(PaddedCopy(), model_of(uniform))
