"""The random hierarchy: one class a sentence, synonyms that keep it, equally likely sentences."""

import jax
import numpy as np
import pytest

from el_jax.worlds import Sentences, every_sentence, random_hierarchy

SIZES = {"depth": 2, "vocab_size": 4, "rules_per_symbol": 3, "num_classes": 5}


@pytest.mark.parametrize("seed", [0, 1])
def test_sentences_are_as_many_and_as_likely_as_the_rules_say(seed):
    _, probability = every_sentence(random_hierarchy(**SIZES, seed=seed))
    num = 5 * 3**3  # C m^(2^L - 1)
    assert (np.asarray(probability) > 0).sum() == num
    np.testing.assert_allclose(probability[probability > 0], 1 / num, rtol=1e-5)


@pytest.mark.parametrize("seed", [0, 1])
def test_no_pair_belongs_to_two_symbols_and_synonyms_keep_the_class(seed):
    world = random_hierarchy(**SIZES, seed=seed)
    for table in (world.root_rules, *world.rules):
        assert ((table > 0).sum(axis=0) <= 1).all()
        assert ((table > 0).sum(axis=(1, 2)) == 3).all()
    tokens, probability = map(np.asarray, every_sentence(world))
    tokens = tokens[probability > 0]
    symbol_of = {tuple(pair): z for z, *pair in np.argwhere(world.rules[0] > 0)}
    classes = np.asarray(world.labels(Sentences(tokens))["sentence"])
    of_symbols = {}
    for row, found in zip(tokens.tolist(), classes, strict=True):
        symbols = symbol_of[tuple(row[:2])], symbol_of[tuple(row[2:])]
        assert world.root_rules[found][symbols] > 0
        of_symbols.setdefault(symbols, set()).add(found)
    assert all(len(found) == 1 for found in of_symbols.values())
    assert np.bincount(classes).tolist() == [27] * 5


def test_a_seed_draws_other_rules():
    first, again, other = (random_hierarchy(seed=seed).root_rules for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert random_hierarchy(depth=1).sample(jax.random.key(0), 3).tokens.shape == (3, 2)
