"""Hidden Markov models compared with sums over every path of states."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.process.compilation import Once
from el_jax.worlds import HMM, block_hmm, entropy_floor, label_rates


def paths(world, tokens):
    """p(x, z) of every path of states, [S] * T."""
    joint = np.zeros((world.num_states,) * world.length)
    for states in itertools.product(range(world.num_states), repeat=world.length):
        p = world.initial[states[0]]
        p *= np.prod([world.transition[a, b] for a, b in itertools.pairwise(states)])
        joint[states] = p * world.emission[list(states), tokens].prod()
    return joint


def dense(seed, concentration=0.5):
    rng = np.random.default_rng(seed)
    tables = [rng.dirichlet(np.full(3, concentration), n) for n in (1, 3, 3)]
    return HMM(tables[0][0], tables[1], tables[2], length=4)


@pytest.mark.parametrize("seed", [0, 1])
def test_probability_and_posteriors_are_sums_over_paths(seed):
    world = dense(seed)
    tokens = np.random.default_rng(seed).integers(0, 3, (10, 4))
    with jax.enable_x64(True):
        logs = Once(lambda: (world.log_probability(tokens), world.log_posteriors(tokens)))()
        probability, posteriors = jax.tree.map(np.exp, logs)
    for i, row in enumerate(tokens):
        joint = paths(world, row)
        np.testing.assert_allclose(probability[i], joint.sum(), atol=1e-10)
        for t in range(4):
            others = tuple(axis for axis in range(4) if axis != t)
            marginal = joint.sum(axis=others) / joint.sum()
            np.testing.assert_allclose(posteriors[f"state_{t + 1}"][i], marginal, atol=1e-10)


def test_blocks_are_never_left():
    world = block_hmm()
    state_block, word_block = np.arange(100) // 25, np.arange(200) // 50
    assert not world.transition[state_block[:, None] != state_block].any()
    assert not world.emission[state_block[:, None] != word_block].any()
    np.testing.assert_allclose(world.transition.sum(axis=1), 1)
    np.testing.assert_allclose(world.emission.sum(axis=1), 1)
    sentences = Once(lambda key: world.sample(key, 20))(jax.random.key(0))
    words, states = (np.asarray(a) for a in sentences)
    np.testing.assert_array_equal(word_block[words], state_block[states])
    assert (np.ptp(state_block[states], axis=1) == 0).all()
    np.testing.assert_array_equal(world.labels(sentences)["state_6"], states[:, 5])


def test_long_sentences_do_not_underflow():
    world = block_hmm(length=200)
    tokens = Once(lambda key: world.sample(key, 2).tokens)(jax.random.key(0))
    conditionals = np.exp(Once(world.log_conditionals)(tokens))
    np.testing.assert_allclose(conditionals.sum(axis=-1), 1, atol=1e-5)
    assert np.isfinite(Once(world.log_probability)(tokens)).all()


def test_the_defaults_have_the_entropy_they_were_chosen_for():
    world = block_hmm()
    floor = Once(entropy_floor, static_argnums=2)(world, jax.random.key(0), 1000)
    assert abs(floor.mean - 3.77) < 0.06  # models differ by some hundredths
    rates = Once(label_rates, static_argnums=2)(world, jax.random.key(1), 1000)
    assert 0.35 < rates["state_6"].bayes.mean < 0.5


@pytest.mark.parametrize("kind", [np.array, jnp.array, np.ndarray.tolist])
def test_tables_of_any_kind_are_checked_and_may_be_integers(kind):
    swap = np.array([[0, 1], [1, 0]])  # a deterministic world
    world = HMM(kind(np.array([1, 0])), kind(swap), kind(np.eye(2, dtype=int)), length=3)
    np.testing.assert_array_equal(world.sample(jax.random.key(0), 1).tokens, [[0, 1, 0]])
    with pytest.raises(ValueError, match=r"transition\[0\] sums to 2"):
        HMM(kind(np.array([0.5, 0.5])), kind(swap + 0.5), kind(np.eye(2)), length=3)
