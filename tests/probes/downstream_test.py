"""Features that hold a label, the lookup table, and a run that is no longer finite."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy

from configs.flatness import masked
from el_jax import build
from el_jax.models import transformer
from el_jax.probes import PROBES, by_naive_bayes, downstream, fine_tuned
from el_jax.probes.fine_tune import FineTuning
from el_jax.probes.linear_probe import linear_probe, naive_bayes
from el_jax.process.compilation import Once
from el_jax.process.errors import ConfigError
from el_jax.tasks import MaskedWords, PaddedCopy
from el_jax.types import ModelFns
from el_jax.worlds import choose_world
from tests.models.tiny_models import bert_of

WORLD = choose_world(
    "hmm", {"num_states": 4, "vocab_size": 6, "length": 4, "num_blocks": 2, "concentration": 0.5}
)
TASK = MaskedWords(world=WORLD, downstream=("state_2",))
NUM = 2000


def model_of(features):
    return ModelFns(lambda key: jnp.zeros(()), lambda params, batch: params, features=features)


def posterior(params, batch):
    """The posterior of the state as features of the first token; those of the others are 0."""
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


def test_the_lookup_table_has_the_conditional_of_each_word_in_turn():
    world, sentences = WORLD.make(), Once(lambda: TASK.downstream_set(400))()
    log_probability = Once(world.log_probability)
    probe = downstream(TASK, model_of(posterior), 400)
    measured = [probe.of_params(jnp.ones(3)) for _ in range(2)]
    tokens = np.array(sentences.tokens)
    features = np.empty((*tokens.shape, world.vocab_size))
    for place in range(tokens.shape[1]):  # by the probabilities of whole sentences
        for word in range(world.vocab_size):
            changed = tokens.copy()
            changed[:, place] = word
            features[:, place, word] = log_probability(changed)
    features = scipy.special.softmax(features, axis=-1).reshape(400, -1)
    states = np.asarray(Once(world.labels)(sentences)["state_2"])
    expected = linear_probe(features, states, 4, jax.random.key(2)).mean
    for found in measured:
        lookup = found["downstream_state_2_lookup"]
        np.testing.assert_allclose(
            lookup, np.full(3, float(expected)), atol=0.013
        )  # an example or two


def test_naive_bayes_reads_the_same_features():
    found = by_naive_bayes(TASK, model_of(posterior), NUM).of_params(jnp.ones(1))

    @Once
    def examples():
        sentences = TASK.downstream_set(NUM)
        features = posterior(1.0, TASK.whole(sentences.tokens)).reshape(NUM, -1)
        return features, WORLD.make().labels(sentences)["state_2"]

    features, states = map(np.asarray, examples())
    expected = linear_probe(features, states, 4, jax.random.key(2), fit=naive_bayes)
    assert found["naive_bayes_state_2"][0] == pytest.approx(float(expected.mean), abs=0.002)
    assert {name.removeprefix("naive_bayes_state_2") for name in found} == {
        "",
        "_sem",
        "_majority",
        "_bayes",
        "_lookup",
    }


def test_a_network_is_trained_on_for_a_label_and_a_lost_one_is_nan():
    model = transformer(bert_of(TASK))

    @Once
    def drawn(key):
        return jax.tree.map(lambda leaf: jnp.stack([leaf, leaf * jnp.nan]), model.init(key))

    both = drawn(jax.random.key(0))
    recipe = FineTuning(num_epochs=20, batch_size=40, peak_lr=1e-2)
    found = fine_tuned(TASK, model, 600, recipe).of_params(both)
    frozen = downstream(TASK, model, 600).of_params(both)
    assert found["fine_tuned_state_2"][0] > found["fine_tuned_state_2_majority"][0] + 0.05
    assert np.isnan(found["fine_tuned_state_2"][1])
    for name in ("majority", "bayes", "lookup"):
        ours, theirs = found[f"fine_tuned_state_2_{name}"], frozen[f"downstream_state_2_{name}"]
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["downstream", "naive_bayes", "fine_tuned"])
def test_a_label_with_one_class_is_named_before_anything_is_trained(name):
    one = choose_world("hmm", {"num_states": 1, "vocab_size": 6, "length": 4, "num_blocks": 1})
    said = f"^{name}_state_2: classes among its labels=\\[0\\]: must be two or more$"
    with pytest.raises(ValueError, match=said):
        PROBES[name](MaskedWords(world=one, downstream=("state_2",)), model_of(posterior))
    config = masked.get_config("world=hmm,smoke")
    config.task.world.update(num_states=1, num_blocks=1)
    config.train.probes = (name,)
    with pytest.raises(ConfigError, match=f"^config.train.probes: '{name}' {name}_state_1: class"):
        build.build(build.parse(config))


def test_what_cannot_be_probed_is_refused_in_one_line():
    with pytest.raises(ValueError, match="needs the task masked, not PaddedCopy"):
        downstream(PaddedCopy(), model_of(posterior))
    with pytest.raises(ValueError, match="needs a model with features"):
        downstream(TASK, model_of(None))
    with pytest.raises(
        ValueError, match=r"downstream=.*: must be among the world's labels state_1"
    ):
        downstream(MaskedWords(world=WORLD, downstream=("state_9",)), model_of(posterior))
