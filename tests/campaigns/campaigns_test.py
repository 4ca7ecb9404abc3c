"""The campaigns: a glimpse of each, and all of each among the slow tests."""

import numpy as np
import pytest

from el_jax.plots import Curve
from el_jax.runtime.own_environment import NoEnvironmentError
from tests.campaigns import (
    __main__ as readme,
    bit_flips,
    compile_targets,
    compiled_checks,
    kill,
    malformed_configs,
    margins,
    nan_injections,
    resume_every_step,
    tally,
    workdirs,
    xla_flag,
)


def test_results_are_kept_until_a_campaign_of_more_trials_or_a_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(tally, "RESULTS", tmp_path)

    def finish(*outcomes):
        trials = tally.Tally("some", ["good"])
        for outcome in outcomes:
            trials.add("kind", outcome)
        with pytest.raises(SystemExit) as left:
            trials.finish()
        kept = tmp_path / "some.csv"
        return left.value.code, tally.num_kept(kept), tally.num_kept(kept, "fault")

    assert finish("good", "good") == (0, 2, 0)
    assert finish("good") == (0, 2, 0)
    assert finish("bad") == (1, 1, 1)
    assert finish("good", "good", "good") == (0, 3, 0)


def test_some_damage_to_checkpoints(tmp_path):
    trials = bit_flips.run(tmp_path, num_flips=20, num_others=20)
    assert trials.num_trials >= 40
    assert not trials.faults


def test_some_malformed_configs(tmp_path):
    trials = malformed_configs.run(tmp_path, count=60, num_processes=1)
    assert trials.num_trials == 60
    assert not trials.faults


@pytest.mark.slow  # tests/training/resume_test.py resumes as often
def test_resuming_at_some_steps(tmp_path):
    settings = ("E1, warm-up, dropout",)
    trials = resume_every_step.run(tmp_path, num_updates=4, settings=settings, every=2)
    assert trials.num_trials == 2
    assert not trials.faults


@pytest.mark.slow  # tests/training/non_finite_test.py injects each kind
def test_some_nan_injections():
    trials = nan_injections.run(num_injections=1)
    assert trials.num_trials == 1
    assert not trials.faults


def test_some_margins():
    trials = margins.run(num_problems=27)
    assert trials.num_trials == 27
    assert not trials.faults


def test_the_readme_has_the_results_and_they_have_no_fault():
    for path in readme.TABLES:
        assert path.read_text() == readme.with_table(path)
    rows = [line.split("|") for line in readme.table().splitlines()[2:]]
    assert all(int(row[2]) > 0 and int(row[3]) == 0 for row in rows)


@pytest.mark.parametrize(
    ("ours", "control_leaves", "outcome"),
    [
        ([1.0, 0.5, 0.25, 0.2], np.inf, "equal"),
        ([1.0, 0.5, 0.25, 0.20005], np.inf, "rounding"),
        ([1.0, 0.5, 0.3, 0.2], 30, "chaos"),
        ([1.0, 0.5, 0.3, 0.2], 20, "chaos"),
        ([1.0, 0.5, 0.3, 0.2], 40, "different"),
        ([1.0, 0.5, 0.3, 0.2], np.inf, "different"),
        ([np.nan, 0.5, 0.25, 0.2], 20, "different"),
    ],
)
def test_how_far_a_curve_is_from_that_without_the_flag(ours, control_leaves, outcome):
    theirs, steps = np.array([1.0, 0.5, 0.25, 0.2]), np.array([10, 20, 30, 40])
    found = xla_flag.judge_curve(np.array(ours), theirs, steps, 1e-4, control_leaves)
    assert found == outcome


def test_a_training_leaves_where_the_first_of_its_curves_does():
    def table(**values):
        curves = {"ce": Curve((0,), np.array([10, 20, 30]), np.array([values["ce"]]))}
        curves["accuracy"] = Curve((0,), np.array([20, 40]), np.array([values["accuracy"]]))
        return {("E1", metric): curve for metric, curve in curves.items()}

    ours = table(ce=[3.0, 2.0, 1.0], accuracy=[0.5, 1.0])
    for theirs, mark in (
        (table(ce=[3.0, 2.0, 1.0], accuracy=[0.5, 1.0]), np.inf),
        (table(ce=[3.0, 2.0, 1.5], accuracy=[0.5, 0.8]), 30),
        (table(ce=[3.0, 2.0, 1.5], accuracy=[0.6, 0.8]), 20),
        (table(ce=[3.0, 2.0, 1.0], accuracy=[0.51, 0.99]), np.inf),
    ):
        found = xla_flag.departures(ours, theirs, {"ce": 3e-4, "accuracy": 0.013})
        assert found == {("E1", 0): mark}


@pytest.mark.parametrize(
    ("ours", "chaotic", "outcome"),
    [
        (0.5, False, "equal"),
        (0.50005, False, "rounding"),
        (0.45, False, "different"),
        (0.45, True, "chaos"),
        (0.9, True, "different"),
        (np.nan, True, "different"),
    ],
)
def test_how_far_a_result_is_from_that_without_the_flag(ours, chaotic, outcome):
    seeds = np.array([0.4, 0.5, 0.6])
    assert xla_flag.judge_result(ours, 0.5, 1e-4, seeds, chaotic) == outcome


def test_some_workdirs_taken_over_linked_and_damaged(tmp_path):
    trials = workdirs.run(tmp_path, num_takeovers=4, num_others=0)
    assert trials.num_trials == 12
    assert not trials.faults


@pytest.mark.parametrize(
    "name",
    [
        "tpu-v5e-4: copy by data",
        "h100-1: evaluation",
        pytest.param("tpu-v5e-2x16: copy by runs", marks=pytest.mark.slow),
        pytest.param("h100-8: copy by runs", marks=pytest.mark.slow),  # a minute
    ],
)
def test_some_programs_for_machines_that_are_not_here(name):
    """The suite downloads no gigabyte if nobody has installed the compilers."""
    try:
        facts = compile_targets.compiled(compile_targets.CASES[name], install=False)
    except NoEnvironmentError as error:
        pytest.skip(f"{error}; python -m tests.campaigns.compile_targets installs them")
    assert not compile_targets.faults(compile_targets.CASES[name], facts)


FACTS = {
    "messages": [["all-reduce", 100, 1.0, True]],
    "host_transfers": [],
    "aliased": 300,
    "state": 300,
    "arguments": 310,
    "products": [["bf16", "f32", [2, 8, 8]], ["bf16", "f32", [16, 5]], ["bf16", "bf16", [8, 8]]],
    "exponential_types": {"f32": 2},
    "largest": 99,
}


def wrong(check, **changed):
    """The faults that a check finds in facts, some of them changed."""
    return list(check(FACTS | changed))


def test_each_check_of_messages_and_memory_finds_what_it_looks_for():
    (reduction,) = FACTS["messages"]
    data, runs = compiled_checks.sums_gradients_once, compiled_checks.sends_nothing
    assert not wrong(data)
    assert wrong(data, messages=[reduction, ["all-gather", 1, 1.0, True]])
    assert wrong(data, messages=[["all-reduce", 50, 2.0, True]])
    assert wrong(data, messages=[["all-reduce", 200, 1.0, True]])
    assert wrong(runs)
    assert not wrong(runs, messages=[])
    groups = compiled_checks.sums_gradients_in_groups(compile_targets.copy())
    assert not wrong(groups, messages=[["all-reduce", 50, 2.0, True]])
    assert wrong(groups, messages=[["all-reduce", 1, 100.0, True]])
    assert wrong(groups, messages=[reduction, ["all-gather", 1, 1.0, True]])
    moments = compiled_checks.sends_moments_alone
    assert not wrong(moments, messages=[["all-gather", 160, 1.0, False]])
    assert wrong(moments, messages=[])
    assert wrong(moments, messages=[["all-gather", 2**13, 1.0, False]])
    slices = compiled_checks.sums_between_slices
    between = ["all-reduce between slices", 100, 1.0, True]
    assert not wrong(slices, messages=[reduction, between])
    assert wrong(slices)
    assert wrong(slices, messages=[between, ["all-gather between slices", 1, 1.0, True]])
    parts = compiled_checks.keeps_its_part
    assert not wrong(parts)
    assert wrong(parts, messages=[])
    assert wrong(parts, arguments=3 * 2**20)
    assert not wrong(compiled_checks.leaves_the_host_alone)
    assert wrong(compiled_checks.leaves_the_host_alone, host_transfers=["outfeed.1"])
    assert not wrong(compiled_checks.reuses_the_state)
    assert wrong(compiled_checks.reuses_the_state, aliased=299)
    assert not wrong(compiled_checks.keeps_no_logits(10, 10))
    assert wrong(compiled_checks.keeps_no_logits(7, 7))


def test_each_check_of_arithmetic_finds_what_it_looks_for():
    assert not wrong(compiled_checks.multiplies_in("bf16"))
    one_wide = [*FACTS["products"], ["f32", "f32", [1, 1]]]
    assert wrong(compiled_checks.multiplies_in("bf16"), products=one_wide)
    assert wrong(compiled_checks.multiplies_in("bf16"), products=[])
    softmax = compiled_checks.exponentiates_in_float32
    assert not wrong(softmax)
    assert wrong(softmax, exponential_types={"f32": 2, "bf16": 1})
    assert wrong(softmax, exponential_types={})
    logits, scores = (
        compiled_checks.forms_logits_in_float32,
        compiled_checks.forms_scores_in_float32,
    )
    assert not wrong(logits(16, 5))
    assert wrong(logits(16, 5), products=[["bf16", "bf16", [16, 5]]])
    assert wrong(logits(16, 6))
    assert not wrong(scores(1, 8))
    assert wrong(scores(2, 8))  # one of the two products is not float32
    assert not wrong(compiled_checks.counts_as_the_formula, operations=2.637e12)
    assert wrong(compiled_checks.counts_as_the_formula, operations=2.9e12)


@pytest.mark.slow
def test_much_damage_to_checkpoints(tmp_path):
    assert not bit_flips.run(tmp_path, num_flips=600, num_others=200).faults


@pytest.mark.slow
def test_many_malformed_configs(tmp_path):
    assert not malformed_configs.run(tmp_path, count=1_500, num_processes=20).faults


@pytest.mark.slow
def test_resuming_at_every_step(tmp_path):
    trials = resume_every_step.run(tmp_path, num_updates=30)
    assert trials.num_trials == 150
    assert not trials.faults


@pytest.mark.slow
def test_many_kills(tmp_path):
    assert not kill.run(tmp_path, num_kills=50).faults


@pytest.mark.slow
def test_many_workdirs_taken_over_linked_and_damaged(tmp_path):
    assert not workdirs.run(tmp_path, num_takeovers=60, num_others=5).faults


@pytest.mark.slow
def test_many_nan_injections():
    assert not nan_injections.run(num_injections=20).faults


@pytest.mark.slow
def test_many_margins():
    assert not margins.run(num_problems=270).faults
