"""The campaigns: a glimpse of each, and all of each among the slow tests."""

import pytest

from tests.campaigns import bit_flips, kill, malformed_configs, resume_every_step


def test_some_damage_to_checkpoints(tmp_path):
    tally = bit_flips.run(tmp_path, num_flips=20, num_others=20)
    assert tally.num_trials >= 40
    assert not tally.faults


def test_some_malformed_configs(tmp_path):
    tally = malformed_configs.run(tmp_path, count=60, num_processes=1)
    assert tally.num_trials == 60
    assert not tally.faults


def test_resuming_at_some_steps(tmp_path):
    settings = ("E1, warm-up, dropout",)
    tally = resume_every_step.run(tmp_path, num_updates=4, settings=settings, every=2)
    assert tally.num_trials == 2
    assert not tally.faults


@pytest.mark.slow
def test_much_damage_to_checkpoints(tmp_path):
    assert not bit_flips.run(tmp_path, num_flips=600, num_others=200).faults


@pytest.mark.slow
def test_many_malformed_configs(tmp_path):
    assert not malformed_configs.run(tmp_path, count=500, num_processes=20).faults


@pytest.mark.slow
def test_resuming_at_every_step(tmp_path):
    tally = resume_every_step.run(tmp_path, num_updates=30)
    assert tally.num_trials == 150
    assert not tally.faults


@pytest.mark.slow
def test_many_kills(tmp_path):
    assert not kill.run(tmp_path, num_kills=50).faults
