"""The campaigns: a glimpse of each, and all of each among the slow tests."""

import pytest

from tests.campaigns import (
    __main__ as readme,
    bit_flips,
    kill,
    malformed_configs,
    nan_injections,
    resume_every_step,
)


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


def test_some_nan_injections():
    tally = nan_injections.run(num_injections=2)
    assert tally.num_trials == 2
    assert not tally.faults


def test_the_readme_has_the_results_and_they_have_no_fault():
    text = readme.README.read_text()
    assert text == readme.with_table(text)
    rows = [line.split("|") for line in readme.table().splitlines()[2:]]
    assert all(int(row[2]) > 0 and int(row[3]) == 0 for row in rows)


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


@pytest.mark.slow
def test_many_nan_injections():
    assert not nan_injections.run(num_injections=20).faults
