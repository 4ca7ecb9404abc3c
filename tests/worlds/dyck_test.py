"""Balanced brackets: every masked input, and the flattest solutions of section 6 on them."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.worlds import Dyck, balance, every_sentence

LENGTHS = pytest.mark.parametrize("length", [4, 6])


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def output(params, inputs):
    """The model of section 6: attention at the first token, a ReLU layer, a scalar."""
    return params[-1] @ hidden(params, inputs)


def hidden(params, inputs):
    keys, queries, values, _ = params
    scores = jnp.einsum("tk,k->t", inputs @ keys.T, queries @ inputs[0])
    mixed = jax.nn.softmax(scores) @ inputs
    return jax.nn.relu(values @ mixed)


def trace_and_loss(params, masked):
    """Trace of the Hessian of the squared loss at zero loss, 2 E|∇f|², and the loss."""
    gradients = jax.vmap(jax.grad(output), (None, 0))(params, masked.inputs)
    squares = [jnp.square(leaf).reshape(len(leaf), -1).sum(axis=1) for leaf in gradients]
    outputs = jax.vmap(output, (None, 0))(params, masked.inputs)
    return 2 * sum(squares).mean(), jnp.square(outputs - masked.answers).mean()


def with_neurons(length, neurons):
    """The model whose attention is uniform, with these rows of W_V and entries of u."""
    square = jnp.zeros((2 * length, 2 * length))
    rows, head = zip(*neurons, strict=True)
    return square, square, jnp.array(rows), jnp.array(head)


def transferable(length):
    """Two neurons that read the balance: solution 1 of the paper, brackets only."""
    row = length**0.75 * np.concatenate([np.ones(length), np.zeros(length)])
    return with_neurons(length, [(-row, length**0.25), (row, -(length**0.25))])


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


@LENGTHS
def test_the_transferable_solution_is_as_flat_as_any_and_transfers(length):
    world = Dyck(length)
    trace, loss = trace_and_loss(transferable(length), world.masked_inputs())
    np.testing.assert_allclose([trace, loss], [4 / math.sqrt(length), 0], atol=1e-12)
    inputs, answers = world.downstream_inputs()
    outputs = jax.vmap(output, (None, 0))(transferable(length), inputs)
    np.testing.assert_allclose(outputs, -answers, atol=1e-12)


def test_a_solution_on_the_kinks_is_as_flat_and_does_not_transfer():
    length = 4  # its powers round so that pre-activations on a kink are exactly 0
    world, half = Dyck(length), length**0.75 / 2
    place, mask = np.eye(2 * length)[[1, length + 1]]
    ones = np.repeat([1.0, 0.0], length)
    neurons = [
        (-2 * half * ones, length**0.25),
        (half * (ones - place + mask), -(length**0.25)),
        (half * (ones + place - mask), -(length**0.25)),
    ]
    params = with_neurons(length, neurons)
    trace, loss = trace_and_loss(params, world.masked_inputs())
    np.testing.assert_allclose([trace, loss], [4 / math.sqrt(length), 0], atol=1e-12)
    inputs, answers = world.downstream_inputs()
    features = np.asarray(jax.vmap(hidden, (None, 0))(params, inputs))
    fitted = features @ np.linalg.lstsq(features, answers)[0]
    np.testing.assert_allclose(np.square(fitted - answers).mean(), 0.088, atol=6e-4)
