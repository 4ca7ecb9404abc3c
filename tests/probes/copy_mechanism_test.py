"""Mechanism checks on networks made by hand, whose mechanism is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.probes.copy_mechanism import attention_mass, swap_test
from el_jax.tasks import PaddedCopy
from el_jax.types import ModelFns

TASK = PaddedCopy(
    alphabet_size=7,
    copy_length=2,
    padding_length=5,
    shift=3,
    num_train=12,
    strings_per_update=6,
    strings_per_window=3,
)
COPIES, UNDOES_SHIFT, NEITHER = range(3)
RUNS = jnp.array([UNDOES_SHIFT, COPIES, NEITHER, COPIES])  # the parameter of each run


def places(batch):
    """Places of the letter to copy, and of a padding letter that stands for it, ``[B, P]``."""
    start = batch.supervised // TASK.string_length * TASK.string_length
    slot = batch.supervised - start - (1 + TASK.copy_length + TASK.padding_length)
    return start + 1 + slot, start + 1 + TASK.copy_length + slot


def apply(mechanism, batch, key=None):
    """Logits that are certain of the letter that the mechanism gives."""
    first, padding = (jnp.take_along_axis(batch.tokens, place, 1) for place in places(batch))
    unshifted = (padding - TASK.shift) % TASK.alphabet_size
    bos = jnp.full_like(first, TASK.special_ids[0])
    answer = jnp.stack([first, unshifted, bos])[mechanism]
    return jax.nn.one_hot(answer, TASK.vocab_size)


def attention(mechanism, batch):
    """Two layers of two heads, all even over the padding except one head of a copying run."""
    answer, _ = places(batch)
    position = jnp.arange(batch.tokens.shape[1])[None, None]
    start = (answer // TASK.string_length * TASK.string_length)[..., None]
    place = position - start
    is_padding = (place > TASK.copy_length) & (place <= TASK.copy_length + TASK.padding_length)
    on_padding = is_padding / TASK.padding_length
    on_answer = jax.nn.one_hot(answer, position.size)
    heads = jnp.stack([jnp.stack([on_padding] * 2, 1)] * 2)  # [N, B, H, P, T]
    return heads.at[1, :, 0].set(jnp.where(mechanism == COPIES, on_answer, on_padding))


MODEL = ModelFns(dict, apply, attention)


def test_swap_test_tells_copying_from_undoing_the_shift():
    found = swap_test(TASK, MODEL, num=9).of_params(RUNS)
    assert found["swap_copies"].tolist() == [0, 1, 0, 1]
    assert found["swap_undoes_shift"].tolist() == [1, 0, 0, 0]


def test_attention_mass_is_of_the_best_head_on_the_answer_and_of_all_on_the_padding():
    found = attention_mass(TASK, MODEL, num=9).of_params(RUNS)
    np.testing.assert_allclose(found["attention_on_answer"], [0, 1, 0, 1], atol=1e-6)
    np.testing.assert_allclose(found["attention_on_padding"], [1, 0.75, 1, 0.75], rtol=1e-6)


def test_even_attention_is_spread_over_the_window():
    def even(mechanism, batch):
        length = batch.tokens.shape[1]
        return jnp.full((1, len(batch.tokens), 1, batch.supervised.shape[1], length), 1 / length)

    found = attention_mass(TASK, MODEL._replace(attention=even), num=9).of_params(RUNS)
    np.testing.assert_allclose(found["attention_on_answer"], 1 / TASK.window_length, rtol=1e-5)
    np.testing.assert_allclose(found["attention_on_padding"], 5 / TASK.window_length, rtol=1e-5)


def test_numbers_of_strings_that_do_not_fill_windows_are_rounded_up():
    assert swap_test(TASK, MODEL, num=7).of_params(RUNS)["swap_copies"].tolist() == [0, 1, 0, 1]
    assert attention_mass(TASK, MODEL, num=7).of_params(RUNS)["attention_on_answer"][1] == 1


def test_a_network_without_attention_is_refused():
    with pytest.raises(ValueError, match="model with attention"):
        attention_mass(TASK, MODEL._replace(attention=None))
