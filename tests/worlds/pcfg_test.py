"""Grammars of full trees, compared with the distribution built up from their rules."""

import jax
import numpy as np
import pytest

from el_jax.worlds import TreeGrammar, entropy_floor, tree_grammar

SMALL = {"symbols_per_level": 3, "vocab_size": 3, "rules_per_symbol": 2, "num_roots": 2}


def small(depth=2, seed=0, **numbers):
    return tree_grammar(depth=depth, seed=seed, **{**SMALL, "words_per_symbol": 2, **numbers})


def spelled(world, symbol, level):
    """Every word sequence of a symbol with its probability; level 0 is the root's."""
    if level == world.depth:
        return {(w,): p for w, p in enumerate(world.words[symbol]) if p > 0}
    pairs = world.root_rules[symbol] if level == 0 else world.rules[level - 1, symbol]
    law = {}
    for left, right in np.argwhere(pairs > 0):
        for head, p in spelled(world, left, level + 1).items():
            for tail, q in spelled(world, right, level + 1).items():
                law[head + tail] = law.get(head + tail, 0) + pairs[left, right] * p * q
    return law


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("seed", [0, 1])
def test_probabilities_are_those_of_the_rules(depth, seed):
    world = small(depth, seed)
    law = {}
    for root, p in enumerate(world.root):
        for words, q in spelled(world, root, 0).items():
            law[words] = law.get(words, 0) + p * q
    tokens = np.array(list(np.ndindex(*(3,) * world.length)))
    with jax.enable_x64(True):
        probability = np.exp(world.log_probability(tokens))
    expected = [law.get(tuple(row), 0) for row in tokens.tolist()]
    np.testing.assert_allclose(probability, expected, atol=1e-10)


@pytest.mark.parametrize("seed", [0, 1])
def test_labels_are_the_symbols_that_best_explain_a_span(seed):
    world = small(3, seed, words_per_symbol=3)
    sentences = jax.jit(lambda: world.sample(jax.random.key(0), 40))()
    labels = jax.tree.map(np.asarray, jax.jit(world.labels)(sentences))
    assert set(labels) == {"sentence", "prefix_2", "prefix_4"}
    spans = {"sentence": (0, 8, 2), "prefix_2": (2, 2, 3), "prefix_4": (1, 4, 3)}
    for name, (level, width, classes) in spans.items():
        laws = [spelled(world, symbol, level) for symbol in range(classes)]
        for row, label in zip(np.asarray(sentences.tokens).tolist(), labels[name], strict=True):
            inside = np.array([law.get(tuple(row[:width]), 0) for law in laws])
            assert inside[label] >= inside.max() * (1 - 1e-5)
        assert len(set(labels[name].tolist())) > 1


def test_the_first_of_equal_symbols_is_the_label():
    pairs = np.full((3, 3, 3), 1 / 9)
    world = TreeGrammar(np.array([1.0]), pairs[:1], pairs[None], np.full((3, 2), 0.5))
    labels = world.labels(world.sample(jax.random.key(0), 4))
    np.testing.assert_array_equal(labels["prefix_2"], 0)


def test_a_sentence_that_no_tree_has_is_of_no_class():
    world = small(seed=1)
    tokens = np.array(list(np.ndindex(3, 3, 3, 3)))
    impossible = tokens[np.isneginf(world.log_probability(tokens))][:1]
    assert len(impossible) == 1
    assert np.isnan(world.log_posteriors(impossible)["sentence"]).all()


def test_the_defaults_have_the_entropy_they_were_chosen_for():
    floor = jax.jit(entropy_floor, static_argnums=2)(tree_grammar(), jax.random.key(0), 200)
    assert abs(floor.mean - 3.2) < 0.1


def test_sentences_of_32_words_are_within_float32():
    world = tree_grammar()
    assert (world.length, world.vocab_size) == (32, 200)
    tokens = np.asarray(jax.jit(lambda: world.sample(jax.random.key(0), 20).tokens)())
    conditionals = jax.jit(world.log_conditionals)
    single = np.exp(conditionals(tokens))
    # the exponential of the smallest is below the normal numbers of float32
    assert jax.jit(world.log_probability)(tokens).min() < -90
    with jax.enable_x64(True):
        np.testing.assert_allclose(single, np.exp(conditionals(tokens)), atol=1e-5)
