"""Programs compiled for machines that are not here, and the checks of what the compiler made."""

import pytest

from el_jax.runtime.own_environment import NoEnvironmentError
from tests.planning import compile_targets, compiled_checks


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
        pytest.skip(f"{error}; python -m tests.planning.compile_targets installs them")
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
