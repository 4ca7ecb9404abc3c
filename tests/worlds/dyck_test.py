"""Balanced brackets: every masked input and every downstream input, with their answers."""

import itertools
import math

import numpy as np
import pytest

from el_jax.worlds import Dyck, balance, every_sentence

LENGTHS = pytest.mark.parametrize("length", [4, 6])
pytestmark = pytest.mark.usefixtures("float64")


@LENGTHS
def test_masked_inputs_are_all_of_them(length):
    masked = Dyck(length).masked_inputs()
    assert len(masked.inputs) == 2 * length * math.comb(length, length // 2)
    assert len(np.unique(masked.inputs.reshape(len(masked.inputs), -1), axis=0)) == len(
        masked.inputs
    )
    norms = np.linalg.norm(masked.inputs, axis=-1)
    np.testing.assert_array_equal(norms, 1)
    brackets, masks = np.split(masked.inputs.sum(axis=1), 2, axis=1)
    np.testing.assert_array_equal(np.abs(brackets).sum(axis=1), length - 1)
    np.testing.assert_array_equal(np.abs(masks).sum(axis=1), 1)
    np.testing.assert_array_equal(brackets[masks != 0], 0)  # the mask is where no bracket is
    np.testing.assert_array_equal(masked.answers, -brackets.sum(axis=1))
    flipped = {row.tobytes() for row in (0.0 - masked.inputs)}
    assert flipped == {row.tobytes() for row in masked.inputs + 0.0}


@LENGTHS
def test_the_masked_answer_is_the_conditional(length):
    world = Dyck(length)
    tokens, probability = every_sentence(world)
    tokens = np.asarray(tokens)[np.asarray(probability) > 0]
    conditionals = np.exp(world.log_conditionals(tokens))
    np.testing.assert_array_equal(conditionals.argmax(axis=-1), tokens)
    np.testing.assert_array_equal(conditionals.max(axis=-1), 1)
    np.testing.assert_array_equal(balance(tokens), 0)


@LENGTHS
def test_downstream_inputs_are_all_orders_with_their_balance(length):
    inputs, answers = Dyck(length).downstream_inputs()
    assert inputs.shape == (2**length, length, 2 * length)
    signs = np.einsum("ntt->nt", inputs[..., :length])
    assert {tuple(row) for row in signs} == set(itertools.product((1.0, -1.0), repeat=length))
    np.testing.assert_array_equal(answers, signs.sum(axis=1))
