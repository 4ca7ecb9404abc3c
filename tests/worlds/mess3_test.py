"""Mess3 and RRXOR compared with their tokens' matrices, and beliefs with sums over states."""

import itertools

import jax
import numpy as np
import pytest

from el_jax.worlds import every_sentence, mess3, rrxor

# token A, as printed by Shai et al. 2024 for alpha = .85 and x = .05; the others by symmetry
PRINTED = np.array(
    [[0.765, 0.00375, 0.00375], [0.0425, 0.0675, 0.00375], [0.0425, 0.00375, 0.0675]]
)
LABELLED = [np.roll(PRINTED, (token, token), (0, 1)) for token in range(3)]


def law(initial, labelled, tokens):
    """Joint law of the state and the tokens so far, after each token, ``[T, S]``."""
    state, states = initial, []
    for token in tokens:
        state = state @ labelled[token]
        states.append(state)
    return np.array(states)


def test_mess3_is_that_of_the_printed_matrices():
    world = mess3(length=4)
    with jax.enable_x64(True):
        tokens, probability = map(np.asarray, every_sentence(world))
        belief = np.asarray(world.belief(tokens))
    for row, p, beliefs in zip(tokens, probability, belief, strict=True):
        states = law(np.full(3, 1 / 3), LABELLED, row)
        np.testing.assert_allclose(p, states[-1].sum(), rtol=1e-9)
        np.testing.assert_allclose(beliefs, states / states.sum(1, keepdims=True), rtol=1e-9)


def test_rrxor_has_the_bits_of_its_three_phases():
    expected = dict.fromkeys(itertools.product((0, 1), repeat=4), 0.0)
    for phase, bits in itertools.product(range(3), itertools.product((0, 1), repeat=4)):
        stream = [*bits[:2], bits[0] ^ bits[1], *bits[2:], bits[2] ^ bits[3]]
        expected[tuple(stream[phase : phase + 4])] += 1 / 48
    with jax.enable_x64(True):
        tokens, probability = map(np.asarray, every_sentence(rrxor(length=4)))
    found = {tuple(row): p for row, p in zip(tokens.tolist(), probability, strict=True)}
    assert found == pytest.approx(expected, abs=1e-12)
