"""The lookup table reads the row of its context, whatever stands elsewhere."""

import itertools

import jax
import jax.numpy as jnp
import pytest

from el_jax.models import LookupTableConfig, lookup_table
from el_jax.types import Batch

V = 3


def logits_after(order, *windows, documents=None):
    """Number of the row that answers after the last token of each window."""
    model = lookup_table(LookupTableConfig(vocab_size=V, order=order))
    shape = jax.eval_shape(model.init, jax.random.key(0))["logits"].shape
    assert shape == ((V + 1) ** order, V)
    table = jnp.arange(shape[0], dtype=jnp.float32)[:, None] * jnp.ones((1, V))
    tokens = jnp.asarray(windows)
    end = jnp.full((len(windows), 1), tokens.shape[1] - 1)
    batch = Batch(tokens, end, 0 * end, end >= 0, 0 * end, None, documents)
    return model.apply({"logits": table}, batch)[:, 0, 0].tolist()


def test_every_context_has_a_row_of_its_own():
    contexts = list(itertools.product(range(V), repeat=2))
    rows = logits_after(2, *contexts)
    assert len(set(rows)) == len(contexts)
    longer = [(first, *context) for first in range(V) for context in contexts]
    assert logits_after(2, *longer) == rows * V


def test_contexts_stop_at_the_start_of_a_window_or_document():
    short, after_another = (1,), (2, 1)
    documents = jnp.asarray([[0, 1]])
    assert logits_after(2, short) == logits_after(2, after_another, documents=documents)
    assert logits_after(2, short) != logits_after(2, after_another)


def test_the_table_starts_at_the_uniform_distribution():
    assert not lookup_table(LookupTableConfig(vocab_size=V)).init(jax.random.key(0))["logits"].any()


@pytest.mark.parametrize(("vocab_size", "order"), [(3, 0), (3, 16)])
def test_a_table_that_cannot_be_indexed_is_refused(vocab_size, order):
    with pytest.raises(ValueError, match=f"^order={order}: must be at least 1, and small"):
        LookupTableConfig(vocab_size=vocab_size, order=order)
