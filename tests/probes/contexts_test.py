"""Single contexts have the logits of their batch, are chosen evenly, and omit filling slots."""

import dataclasses

import jax
import numpy as np
import pytest

from el_jax.models import PRESETS, transformer
from el_jax.probes import context_logits, contexts_of
from el_jax.process.compilation import Once
from el_jax.tasks import CausalWords, MaskedWords, PaddedCopy
from el_jax.types import Batch

COPY = PaddedCopy(padding_length=3, strings_per_window=2, num_train=16, doc_mask=True)
BERT = MaskedWords(masking="bert")


def batch_of(task: MaskedWords | PaddedCopy) -> Batch:
    return Once(lambda: task.pack(task.test_set(8)))()


@pytest.mark.parametrize(("task", "preset"), [(COPY, "gpt2"), (BERT, "budget_bert")])
def test_a_context_has_the_logits_and_label_of_its_slot(task, preset):
    config = dataclasses.replace(
        PRESETS[preset],
        vocab_size=task.vocab_size,
        width=8,
        num_layers=1,
        num_heads=2,
        max_length=64,
    )
    model, batch = transformer(config), batch_of(task)
    params = Once(model.init)(jax.random.key(0))
    windows, labels = contexts_of(batch)
    alone = Once(jax.vmap(context_logits(model), (None, 0)))(params, windows)
    mask = np.asarray(batch.mask)
    assert len(alone) == mask.sum()
    np.testing.assert_allclose(alone, Once(model.apply)(params, batch)[mask], atol=1e-5)
    np.testing.assert_array_equal(labels, batch.labels[mask])


def test_fewer_contexts_lie_evenly_over_windows_of_one_position():
    batch = batch_of(MaskedWords())
    some, labels = contexts_of(batch, most=4)
    np.testing.assert_array_equal(some.tokens, batch.tokens[::2])
    np.testing.assert_array_equal(labels, batch.labels[::2, 0])


def test_fewer_contexts_are_at_every_position_of_a_window():
    task = CausalWords(num_train=256)
    batch = Once(lambda: task.pack(task.train_set()))()
    windows, labels = contexts_of(batch, most=256)  # one for each window, were they evenly spaced
    places, counts = np.unique(windows.supervised, return_counts=True)
    assert len(labels) == 256
    assert len(places) == batch.mask.shape[1]
    assert counts.max() < 256 / 4


def test_a_batch_that_asks_for_nothing_is_refused():
    batch = batch_of(BERT)
    with pytest.raises(ValueError, match="tokens asked for=0: must be at least 1"):
        contexts_of(batch._replace(mask=batch.mask & False))
