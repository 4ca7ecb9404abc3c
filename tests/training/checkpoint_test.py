"""What is saved comes back bit for bit, and every save asked for is made."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.training.checkpoint import Checkpoints
from el_jax.training.state import Health, TrainState


def state_at(step, size=3):
    weights = jnp.linspace(0.1, 1.0, size) / 3 * step
    moments = (jnp.full(2, step, jnp.int32), (), {"mu": weights / 7})
    health = Health(*(jnp.arange(i, i + 2) for i in range(4)))
    return TrainState(jnp.int32(step), {"layer": {"kernel": weights}}, moments, health)


def assert_same(ours, theirs):
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_restores_structure_types_and_bits(tmp_path):
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(state_at(7))
    with Checkpoints(tmp_path) as checkpoints:
        assert checkpoints.latest_step() == 7
        assert_same(checkpoints.restore(lambda: state_at(0)), state_at(7))


def test_saves_in_quick_succession_are_all_made_and_the_newest_kept(tmp_path):
    # 8 MB each, so that one is still being written when the next is asked for
    with Checkpoints(tmp_path, keep=3) as checkpoints:
        for step in (1, 2, 3, 4):
            checkpoints.save(state_at(step, size=2_000_000))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "3", "4"]


def test_a_step_is_saved_once(tmp_path):
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(state_at(5))
        checkpoints.save(state_at(5))
    assert [path.name for path in tmp_path.iterdir()] == ["5"]


def test_a_state_may_be_donated_while_it_is_written(tmp_path):
    update = jax.jit(lambda state: jax.tree.map(lambda leaf: leaf + 1, state), donate_argnums=0)
    size = 2_000_000
    with Checkpoints(tmp_path) as checkpoints:
        state = state_at(1, size)
        checkpoints.save(state)
        for _ in range(5):
            state = update(state)
        state.params["layer"]["kernel"].block_until_ready()
    with Checkpoints(tmp_path) as checkpoints:
        assert_same(checkpoints.restore(lambda: state_at(0, size)), state_at(1, size))


def test_a_half_written_checkpoint_is_passed_over(tmp_path):
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(state_at(3))
    (tmp_path / "6.orbax-checkpoint-tmp").mkdir()
    with Checkpoints(tmp_path) as checkpoints:
        assert checkpoints.latest_step() == 3


def test_nothing_to_restore_is_said(tmp_path):
    with Checkpoints(tmp_path) as checkpoints:
        assert checkpoints.latest_step() is None
        with pytest.raises(FileNotFoundError, match="no complete checkpoint"):
            checkpoints.restore(lambda: state_at(0))
