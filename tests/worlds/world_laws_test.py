"""The laws that every world of ``WORLDS`` obeys, tested on all of its sentences written out.

``Once`` compiles programs in a third of the time, which pays since each is run a few times only.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from el_jax.process.compilation import Once
from el_jax.worlds import (
    PAD,
    WORLDS,
    World,
    conditional_entropies,
    entropy_floor,
    every_masked_context,
    every_sentence,
    exact_entropy_floor,
    exact_label_rates,
    label_rates,
)
from el_jax.worlds.world import categorical, categorical_of, cumulative
from tests.worlds.small_worlds import SMALL

# the others are tables of the class of hmm, tested in mess3_test.py and bigram_river_test.py
KINDS = [name for name in SMALL if name not in ("bigram_river", "mess3", "rrxor")]
every_world = pytest.mark.parametrize("name", KINDS)
pytestmark = pytest.mark.usefixtures("float64")
few = settings(max_examples=5)
conditionals_of = Once(lambda world, tokens: jnp.exp(world.log_conditionals(tokens)))
next_of = Once(lambda world, tokens: jnp.exp(world.log_next(tokens)))
sample = Once(lambda world, key, num: world.sample(key, num), static_argnums=2)
floor_of = Once(entropy_floor, static_argnums=2, static_argnames="per")
exact_floor_of = Once(exact_entropy_floor, static_argnames="per")
rates_of = Once(label_rates, static_argnums=2)
exact_rates_of = Once(exact_label_rates)
classes_of = Once(lambda world, given: (world.labels(given), world.log_posteriors(given.tokens)))


@functools.cache
def written_out(name):
    tokens, probability = Once(every_sentence)(SMALL[name])
    return np.asarray(tokens), np.asarray(probability)


def joint_conditionals(tokens, probability, vocab_size):
    """p(x_t = v | x_-t) of every sentence from the table of the joint, [n, T, V]."""
    of = {tuple(row): p for row, p in zip(tokens.tolist(), probability, strict=True)}
    conditionals = np.zeros((*tokens.shape, vocab_size))
    for i, row in enumerate(tokens.tolist()):
        for t in range(row.index(PAD) if PAD in row else len(row)):
            joint = [of[(*row[:t], word, *row[t + 1 :])] for word in range(vocab_size)]
            with np.errstate(invalid="ignore"):
                conditionals[i, t] = np.array(joint) / np.sum(joint)
    return conditionals


def joint_next(tokens, probability, vocab_size):
    """p(x_t = v | x_<t) of every sentence from the table of the joint, [n, T, V]."""
    of = {}
    for row, p in zip(tokens.tolist(), probability, strict=True):
        words = [word for word in row if word != PAD]
        for t in range(len(words) + 1):
            of[tuple(words[:t])] = of.get(tuple(words[:t]), 0) + p
    law = np.zeros((*tokens.shape, vocab_size))
    for i, row in enumerate(tokens.tolist()):
        for t in range(len(row)):
            onward = [of.get((*row[:t], word), 0) for word in range(vocab_size)]
            with np.errstate(invalid="ignore"):
                law[i, t] = np.array(onward) / np.float64(of.get(tuple(row[:t]), 0))
    return law


def test_every_world_has_a_small_one():
    # an imported experiment may have registered a world of its own
    ours = {name for name, make in WORLDS.items() if make.__module__.startswith("el_jax.")}
    assert SMALL.keys() == ours | {"language_model"}  # that one is made from files


@every_world
def test_probabilities_of_all_sentences_sum_to_one(name):
    assert isinstance(SMALL[name], World)
    _, probability = written_out(name)
    assert probability.dtype == np.float64
    np.testing.assert_allclose(probability.sum(), 1, rtol=1e-12)


@every_world
def test_conditionals_equal_those_of_the_joint(name):
    tokens, probability = written_out(name)
    conditionals = np.asarray(conditionals_of(SMALL[name], tokens))
    expected = joint_conditionals(tokens, probability, SMALL[name].vocab_size)
    np.testing.assert_allclose(conditionals, expected, atol=1e-10)
    rows = conditionals.sum(axis=-1)
    known = (tokens != PAD) & ~np.isnan(rows)
    np.testing.assert_allclose(rows[known], 1, rtol=1e-12)


@every_world
def test_next_words_follow_the_joint(name):
    world = SMALL[name]
    tokens, probability = written_out(name)
    expected = joint_next(tokens, probability, world.vocab_size)
    np.testing.assert_allclose(np.asarray(next_of(world, tokens)), expected, atol=1e-10)
    missing = 1 - expected.sum(axis=-1)[probability > 0]  # mass of sentences that have ended
    assert (np.nanmax(missing) > 0.01) == (len(world.lengths) > 1)
    stacked = next_of(world, tokens[:6].reshape(2, 3, -1))
    np.testing.assert_allclose(stacked.reshape(expected[:6].shape), expected[:6], atol=1e-10)
    with jax.enable_x64(False):
        np.testing.assert_allclose(next_of(world, tokens), expected, atol=1e-5)


@every_world
def test_drawn_sentences_follow_the_probabilities(name):
    world, num = SMALL[name], 20_000
    tokens, probability = written_out(name)
    drawn = np.asarray(sample(world, jax.random.key(3), num).tokens)
    place = {tuple(row): i for i, row in enumerate(tokens.tolist())}
    counts = np.bincount([place[tuple(row)] for row in drawn.tolist()], minlength=len(tokens))
    assert not counts[probability == 0].any()
    expected = num * probability
    common = expected >= 5
    seen = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    kept = wanted > 0
    assert stats.chisquare(seen[kept], wanted[kept] * num / wanted.sum()).pvalue > 1e-3


@every_world
def test_drawn_labels_follow_the_posteriors(name):
    world, num = SMALL[name], 20_000
    sentences = sample(world, jax.random.key(4), num)
    labels, posteriors = classes_of(world, sentences)
    assert labels.keys() == posteriors.keys() == world.num_classes.keys()
    for label, classes in world.num_classes.items():
        assert posteriors[label].shape == (num, classes)
        has_class = np.asarray(labels[label]) >= 0
        posterior = np.exp(posteriors[label][has_class])
        one_hot = np.eye(classes)[labels[label][has_class]]
        np.testing.assert_allclose(posterior.sum(axis=1), 1, rtol=1e-12)
        assert np.isnan(np.asarray(posteriors[label])[~has_class]).all()
        assert (posterior[one_hot == 1] > 0).all()
        # given the sentence, a class is drawn with its posterior probability
        deviation = (one_hot - posterior).sum(axis=0)
        spread = np.sqrt((posterior * (1 - posterior)).sum(axis=0))
        assert (np.abs(deviation) <= 4 * spread + 1e-9).all()


@every_world
@given(key=st.integers(0, 2**16), num=st.sampled_from([1, 3, 8]))
@few
def test_a_sentence_does_not_depend_on_its_neighbours(name, key, num):
    world = SMALL[name]
    sentences = sample(world, jax.random.key(key), num)
    more = sample(world, jax.random.key(key), 9)
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b[:num]), sentences, more)
    together = conditionals_of(world, more.tokens)
    assert together.shape == (9, world.length, world.vocab_size)
    alone = conditionals_of(world, sentences.tokens[num - 1])
    np.testing.assert_allclose(alone, together[num - 1], atol=1e-12)
    stacked = conditionals_of(world, more.tokens.reshape(3, 3, -1))
    np.testing.assert_allclose(stacked.reshape(together.shape), together, atol=1e-12)


@every_world
def test_float32_agrees_with_float64(name):
    world = SMALL[name]
    tokens = np.asarray(sample(world, jax.random.key(0), 50).tokens)
    exact = conditionals_of(world, tokens)
    with jax.enable_x64(False):
        single = conditionals_of(world, tokens)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, exact, atol=1e-5)


@every_world
def test_float64_is_exact_beside_a_program_in_float32(name):
    """While such a program lives, jax 0.10 converts the tables in it to float32 elsewhere, too."""
    world = SMALL[name]
    tokens, probability = written_out(name)
    with jax.enable_x64(False):
        beside = jax.jit(lambda rows: (world.log_next(rows), world.log_conditionals(rows)))
        beside(tokens)
    expected = joint_next(tokens, probability, world.vocab_size)
    np.testing.assert_allclose(np.exp(world.log_next(tokens)), expected, atol=1e-10)
    expected = joint_conditionals(tokens, probability, world.vocab_size)
    np.testing.assert_allclose(np.exp(world.log_conditionals(tokens)), expected, atol=1e-10)


@every_world
def test_the_entropy_floor_is_that_of_the_joint(name):
    world = SMALL[name]
    tokens, probability = written_out(name)
    conditionals = np.nan_to_num(joint_conditionals(tokens, probability, world.vocab_size))
    lengths = (tokens != PAD).sum(axis=1)
    entropies = stats.entropy(conditionals + 1e-300, axis=-1)
    entropies[tokens == PAD] = 0
    summed = np.where(probability > 0, entropies.sum(axis=1), 0)
    per_token = probability @ summed / (probability @ lengths)
    np.testing.assert_allclose(exact_floor_of(world, per="token"), per_token, atol=1e-10)
    per_sentence = probability @ (summed / lengths)
    np.testing.assert_allclose(exact_floor_of(world), per_sentence, atol=1e-10)


@every_world
@pytest.mark.parametrize("per", ["sentence", "token"])
def test_the_sampled_floor_and_its_standard_error(name, per):
    world, exact = SMALL[name], exact_floor_of(SMALL[name], per=per)
    runs = [floor_of(world, jax.random.key(i), 400, per=per) for i in range(40)]
    scores = np.array([(run.mean - exact) / max(run.sem, 1e-12) for run in runs])
    assert np.abs(scores).max() < 4
    if exact > 0:  # brackets have no uncertainty
        assert 0.65 < scores.std() < 1.35


@every_world
def test_sampled_label_rates_meet_the_exact_ones(name):
    exact = exact_rates_of(SMALL[name])
    sampled = rates_of(SMALL[name], jax.random.key(5), 4000)
    assert exact.keys() == sampled.keys() == SMALL[name].num_classes.keys()
    for label, (majority, bayes) in exact.items():
        assert majority <= bayes + 1e-12 <= 1 + 1e-11
        for estimate, rate in zip(sampled[label], (majority, bayes), strict=True):
            assert abs(estimate.mean - rate) <= 4 * estimate.sem + 1e-9


@every_world
def test_exact_label_rates_are_those_of_the_joint(name):
    world = SMALL[name]
    tokens, probability = written_out(name)
    tokens, probability = tokens[probability > 0], probability[probability > 0]
    for label, posterior in Once(lambda: world.log_posteriors(tokens))().items():
        posterior = np.exp(posterior)
        has_class = ~np.isnan(posterior).any(axis=1)
        joint = posterior[has_class] * probability[has_class, None] / probability[has_class].sum()
        rates = exact_rates_of(world)[label]
        np.testing.assert_allclose(rates, [joint.sum(0).max(), joint.max(1).sum()], atol=1e-12)


def test_entropies_by_hand():
    conditionals = np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]])
    with np.errstate(divide="ignore"):
        entropies = conditional_entropies(jnp.log(conditionals))
    np.testing.assert_allclose(entropies, [np.log(2), 0, 0], atol=1e-15)


def test_a_class_of_weight_zero_is_never_drawn():
    weights = jnp.tile(jnp.array([0.0, 1e-3, 0.0, 3e-3, 0.0]), (4000, 1))
    drawn = np.asarray(categorical(jax.random.key(0), weights))
    assert set(drawn.tolist()) == {1, 3}
    assert abs((drawn == 1).mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 4000)


@pytest.mark.parametrize("num", [1, 2, 5, 8, 33])
def test_bisection_draws_what_comparing_with_every_class_draws(num):
    rng = np.random.default_rng(num)
    table = rng.dirichlet(np.full(num, 0.2), 7).astype(np.float32) * (rng.uniform(size=num) < 0.7)
    table[:, -1] += 1e-3
    table[0] = 0  # not a law: any class may be drawn, but nothing else
    rows = rng.integers(7, size=20_000)
    sums, weights = cumulative(table), jnp.asarray(table[rows])
    drawn = np.asarray(categorical_of(jax.random.key(1), sums, jnp.asarray(rows)))
    of_all = np.asarray(categorical(jax.random.key(1), weights))
    np.testing.assert_array_equal(drawn[rows > 0], of_all[rows > 0])
    assert (table[rows, drawn] > 0)[rows > 0].all()
    assert (drawn < num).all()
    assert not of_all[rows == 0].any()


def test_rounded_sums_give_no_class_of_weight_zero_room():
    table = np.random.default_rng(0).uniform(size=(500, 1000)).astype(np.float32)
    table[:, ::2] = 0
    sums = np.asarray(cumulative(table))
    assert (np.diff(sums, axis=1) >= 0).all()
    assert (sums[:, 2::2] == sums[:, 1:-1:2]).all()


@pytest.mark.parametrize("name", [name for name in KINDS if len(SMALL[name].lengths) == 1])
def test_masked_contexts_are_the_sentences_with_a_word_hidden(name):
    world = SMALL[name]
    tokens, probability = written_out(name)
    conditionals = np.asarray(conditionals_of(world, tokens))
    expected: dict[tuple, float] = {}
    of = {}
    for row, p, laws in zip(tokens.tolist(), probability, conditionals, strict=True):
        for t in range(world.length) if p else ():
            context = (*row[:t], world.vocab_size, *row[t + 1 :])
            expected[context] = expected.get(context, 0) + p / world.length
            of[context] = laws[t]
    found = every_masked_context(world)
    assert found.weights.sum() == pytest.approx(1)
    assert len(found.tokens) == len(expected)
    for context, place, weight, law in zip(*found, strict=True):
        assert context[place] == world.vocab_size
        assert weight == pytest.approx(expected[tuple(context.tolist())])
        np.testing.assert_allclose(np.exp(law), of[tuple(context.tolist())], atol=1e-12)
    entropies = conditional_entropies(found.log_conditionals)
    assert found.weights @ entropies == pytest.approx(float(exact_floor_of(world)))
