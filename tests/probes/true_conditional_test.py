"""The divergence from the true conditional: zero for the truth, a known value for known models."""

import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.probes import true_conditional
from el_jax.process.compilation import Once
from el_jax.tasks import CausalWords, MaskedWords, PaddedCopy
from el_jax.types import ModelFns
from el_jax.worlds import PAD, choose_world, every_sentence, exact_entropy_floor

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
    floor = float(Once(exact_entropy_floor)(WORLD.make()))
    # the cross-entropy of the uniform model is log V in every context
    np.testing.assert_allclose(found["kl"] + found["entropy"], np.log(4), rtol=1e-5)
    assert found["kl"].shape == (2,)
    error = found["kl_sem"][0]
    assert abs(found["entropy"][0] - floor) < 4 * error

    @Once
    def every_law():
        tokens, probability = every_sentence(WORLD.make())
        return probability, WORLD.make().log_conditionals(tokens)

    probability, log_q = every_law()
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
    with pytest.raises(ValueError, match="needs the task masked or causal, not PaddedCopy"):
        true_conditional(PaddedCopy(), model_of(uniform))


GRAMMAR = """
S A B 1.0
A B B 0.4
A cat 0.6
B A A 0.3
B dog 0.7
"""


@pytest.fixture(name="causal", params=["one length", "several lengths"])
def causal_task(request, tmp_path):
    if request.param == "one length":
        return CausalWords(world=WORLD)
    path = tmp_path / "grammar.txt"
    path.write_text(GRAMMAR, encoding="utf-8")
    return CausalWords(world=choose_world("grammar_file", {"path": str(path), "length": 4}))


def next_words_of(task):
    """The model that knows the truth, from a table of the mass of every prefix of a window."""
    world = task.world.make()
    tokens, probability = map(np.asarray, Once(every_sentence)(world))
    ends = len(world.lengths) > 1
    size, slots = task.vocab_size, world.length + ends
    ended = np.pad(tokens, ((0, 0), (0, int(ends))), constant_values=PAD)
    words = np.where(ended == PAD, task.special_ids[1], ended)
    tables = []
    for length in range(1, slots + 1):
        code = words[:, :length] @ size ** np.arange(length)[::-1]
        tables.append(np.bincount(code, probability, size**length).reshape(-1, size))

    def apply(params, batch, key=None):
        del key
        seen, rows = batch.tokens[:, 1:], []
        for length, table in enumerate(tables):
            code = seen[:, :length] @ size ** np.arange(length)[::-1]
            mass = jnp.asarray(table)[code]
            mass = jnp.where(mass.sum(-1, keepdims=True) > 0, mass, 1)  # after the end
            rows.append(jnp.log(mass))
        return jnp.stack(rows, 1) + params

    return ModelFns(lambda key: jnp.zeros(()), apply)


def test_the_truth_about_next_words_has_no_divergence(causal):
    probe = true_conditional(causal, next_words_of(causal), num=512)
    found = probe.of_params(jnp.zeros(2))
    np.testing.assert_allclose(found["kl"], 0, atol=2e-6)
    np.testing.assert_allclose(found["kl_sem"], 0, atol=2e-6)


def test_divergence_and_entropy_of_next_words_are_those_over_every_sentence(causal):
    def apply(params, batch, key=None):
        del key
        return jnp.zeros((*batch.labels.shape, causal.vocab_size)) + params

    probe = true_conditional(causal, ModelFns(lambda key: jnp.zeros(()), apply), num=8192)
    found = {name: float(value[0]) for name, value in probe.of_params(jnp.zeros(1)).items()}
    # the uniform model loses log V at every asked word
    uniform = np.log(causal.vocab_size)
    np.testing.assert_allclose(found["kl"] + found["entropy"], uniform, rtol=1e-5)
    tokens, probability = map(np.asarray, Once(every_sentence)(causal.world.make()))
    occurs = probability > 0
    words = ((tokens != PAD).sum(1) + (len(causal.world.make().lengths) > 1))[occurs]
    weight = probability[occurs]
    gap = np.log(weight) + words * uniform
    kl = weight @ gap / (weight @ words)
    residual = gap - kl * words
    assert abs(found["kl"] - kl) < 4 * found["kl_sem"]
    error = np.sqrt(weight @ residual**2 / 8192) / (weight @ words)
    np.testing.assert_allclose(found["kl_sem"], error, rtol=0.1)
