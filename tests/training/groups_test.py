"""A resumed training computes as many runs at once as it began with, or warns that it cannot."""

import logging

import jax
import numpy as np
import pytest

from el_jax.checkpoint import Checkpoints
from el_jax.training import runs
from tests.training.small_training import built, small_config

SCARCE, PLENTY = "room for one run", "room for all"


@pytest.fixture
def free(monkeypatch):
    def there_is(room):
        monkeypatch.setattr(runs, "halves", lambda most: [1 if room is SCARCE else most])

    return there_is


def program(seeds=2):
    return built(small_config(seeds=seeds)).program


def advanced(program, state):
    state, metrics, _ = program.advance(state, 10)
    return jax.device_get((state.params, state.opt_state, metrics))


def begun_with_one_at_once(tmp_path, free):
    """Save ten updates, made one run after the other for lack of memory; return ten more."""
    free(SCARCE)
    first = program()
    with Checkpoints(tmp_path, groups=first.groups) as checkpoints:
        state, *_ = first.advance(first.init(), 10)
        checkpoints.save(state)
        checkpoints.wait()
        assert first.groups == {"updates": 1}
        return advanced(first, state)


def go_on(tmp_path):
    second = program()
    with Checkpoints(tmp_path, groups=second.groups) as checkpoints:
        state = checkpoints.restore(second.init)
        return advanced(second, state), second.groups


def test_with_more_memory_the_bits_are_those_of_going_on_at_once(tmp_path, free, caplog):
    expected = begun_with_one_at_once(tmp_path, free)
    free(PLENTY)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        found, groups = go_on(tmp_path)
    assert groups == {"updates": 1}
    assert not caplog.messages
    jax.tree.map(np.testing.assert_array_equal, found, expected)


def test_with_less_memory_it_is_told_that_bits_may_differ(free, caplog):
    free(SCARCE)
    later = program()
    later.groups["updates"] = 2
    with caplog.at_level(logging.WARNING):
        advanced(later, later.init())
    (message,) = [text for text in caplog.messages if text.startswith("updates: 1 of 2 runs")]
    assert message.endswith("; 2 before: bits may differ from now on")
    assert later.groups == {"updates": 1}
