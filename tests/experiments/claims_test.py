"""Claims as rows: their verdicts by hand, by scipy, and at the edges of what was measured."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings, strategies as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

from experiments.harness.claims import contrast, greater, level, median, number, trend
from experiments.harness.judging import Claim, Outcome, Verdict, holm, if_open, judged
from tests.experiments.toys import results_of, table_of

HOLDS, FAILS, SMALL, UNDECIDED, NOT_MEASURED = Verdict
A, B, C = ({"name": name} for name in "abc")


def table(**values):
    return results_of({(name, "accuracy"): numbers for name, numbers in values.items()})


def outcome_of(claim, results):
    """The verdict on a claim by itself, before others are counted."""
    (found,) = judged([claim], results)
    return found.outcome


def by_width(*rows):
    """Results of widths 8, 16, ..., from the values by seed of each."""
    return table_of(({"width": 8 * 2**i}, "accuracy", values) for i, values in enumerate(rows))


# seeds differ a lot from each other; on each seed the two settings differ by 0.10 ± 0.01
PAIRED = table(a=[0.31, 0.60, 0.89], b=[0.20, 0.50, 0.80])
THREE = table(a=[0.9, 0.8, 0.7], b=[0.5, 0.5, 0.3], c=[0.3, 0.1, 0.12])
LEVELS = table(a=[0.8, 0.82, 0.81], b=[1.0] * 9)
RISING = by_width([0.1, 0.2], [0.5, 0.6], [0.9, 1.1])
FALLING = by_width([0.1, 0.2], [0.1, 0.2], [0.0, 0.11])
BENT = by_width([0.1, 0.2], [0.5, 0.6], [0.1, 0.3])
UNEVEN = by_width([0.0, 0.0], [0.0, 0.1], [0.4, 0.5])
# another program slowed one round
TIMES = table(a=[0.80, 0.81, 0.82, 0.83, 0.84, 0.85, 0.86, 0.87, 9.0])


def over(better, worse, **options):
    return greater("", "accuracy", better, than=worse, **options)


def at(where=A, **bounds):
    return level("", "accuracy", where, **bounds)


def of_sum(*terms):
    return contrast("", "accuracy", terms)


def along_width(**options):
    return trend("", "accuracy", {}, "width", **options)


def middle(**bounds):
    return median("", "accuracy", A, **bounds)


def single(values):
    return number("", "accuracy", A, at_most=0.15), table(a=values, b=[1.0])


VERDICTS = [  # claim, table, verdict, what the detail or the number of the report has
    (over(A, B), PAIRED, HOLDS, ""),
    (over(A, B, by=0.05), PAIRED, HOLDS, ""),
    (over(A, B, by=0.1), PAIRED, UNDECIDED, ""),
    (over(A, B, by=0.2), PAIRED, FAILS, ""),
    (over(B, A), PAIRED, FAILS, ""),
    (over(B, A, by=-0.2), PAIRED, HOLDS, ""),
    # a small difference of a known sign has the verdict of its sign
    (over(A, B, matters=0.1), table(a=[0.51, 0.62, 0.80], b=[0.50, 0.61, 0.789]), HOLDS, ""),
    (at(at_least=0.7), LEVELS, HOLDS, ""),
    (at(at_most=0.7), LEVELS, FAILS, ""),
    (at(at_least=0.81), LEVELS, UNDECIDED, ""),
    (at(at_most=0.81), LEVELS, UNDECIDED, ""),
    (at(at_least=0.9), LEVELS, FAILS, ""),
    (at(at_most=0.9), LEVELS, HOLDS, ""),
    (at(B, at_least=1.0), LEVELS, HOLDS, ""),
    (at(B, at_most=1.0), LEVELS, HOLDS, ""),
    # a level of a difference may be too small
    (at(at_least=0.0, matters=0.05), table(a=[0.01, -0.01, 0.005]), SMALL, ""),
    (at(at_least=0.0, matters=0.05), table(a=[0.09, -0.01, 0.005]), UNDECIDED, ""),
    (along_width(rising=True), RISING, HOLDS, ""),
    (along_width(rising=False), RISING, FAILS, ""),
    (along_width(rising=True), FALLING, FAILS, ""),
    (along_width(rising=False), FALLING, HOLDS, ""),
    (along_width(rising=True), BENT, UNDECIDED, ""),
    (along_width(rising=False), BENT, UNDECIDED, ""),
    (
        along_width(rising=True, position=lambda w: 10 * np.log2(w)),
        UNEVEN,
        UNDECIDED,
        "slope +0.022",
    ),
    (along_width(rising=True), by_width([0.1, 0.2]), NOT_MEASURED, "accuracy at two values of"),
    (of_sum((1.0, A), (-1.0, {"name": ("b", "c")})), THREE, HOLDS, "contrast +0.497"),
    (of_sum((-1.0, A), (1.0, B)), THREE, FAILS, ""),
    (middle(at_least=0.7), TIMES, HOLDS, "median 0.84, 95% interval [0.81, 0.87], 9 seeds | 0.84"),
    (middle(at_most=0.7), TIMES, FAILS, ""),
    (middle(at_least=0.85), TIMES, UNDECIDED, ""),
    (middle(at_most=0.85), TIMES, UNDECIDED, ""),
    (middle(at_least=0.88), TIMES, FAILS, ""),
    (middle(at_most=0.88), TIMES, HOLDS, ""),
    (*single([0.0408]), HOLDS, "| 0.0408"),
    (*single([0.2]), FAILS, "| 0.2"),
    (*single([0.04, 0.2]), UNDECIDED, "| 0.04 to 0.2"),
    (*single([np.nan]), UNDECIDED, "| nan"),
    (*single([]), NOT_MEASURED, ""),
    (
        number("", "accuracy", A, B, at_most=0.8),
        THREE,
        UNDECIDED,
        "2 settings, 3 seeds | 0.3 to 0.9",
    ),
    (number("", "accuracy", B, C, at_most=0.8), THREE, HOLDS, "2 settings, 3 seeds | 0.1 to 0.5"),
]


@pytest.mark.parametrize(("claim", "results", "verdict", "said"), VERDICTS)
def test_a_claim_on_a_table_has_the_verdict_by_hand(claim, results, verdict, said):
    found = outcome_of(claim, results)
    assert found.verdict is verdict
    assert said in f"{found.detail} | {found.ours}"


ALIKE = {"a": [0.51, 0.62, 0.80, 0.33], "b": [0.50, 0.64, 0.79, 0.34]}  # they differ by -.0025


@pytest.mark.parametrize("metric", ["test_accuracy", "loss"])
@pytest.mark.parametrize("matters", [None, 0.005, 0.1])
def test_a_difference_shown_to_be_small_is_too_small_to_matter(metric, matters):
    results = results_of({(name, metric): values for name, values in ALIKE.items()})
    least = matters or {"test_accuracy": 0.05, "loss": 0.0}[metric]
    # two one-sided tests; ours is two-sided, since its verdict is that of a 95 % interval
    p = 2 * ttost_paired(*map(np.array, ALIKE.values()), -least, least)[0]
    small = p <= 0.05
    assert small == (least >= 0.05)
    for claim in (
        greater("", metric, A, than=B, matters=matters),
        contrast("", metric, [(1.0, A), (-1.0, B)], matters=matters),
    ):
        found = claim.judge(results)
        assert found.verdict is (SMALL if small else UNDECIDED)
        assert not small or found.p == pytest.approx(p)


def test_the_interval_of_a_share_stays_between_0_and_1():
    results = results_of({("a", "test_accuracy"): [1.0, 1.0, 0.4], ("a", "loss"): [1.0, 1.0, 0.4]})
    share, loss = (
        outcome_of(level("", m, A, at_least=0.1), results) for m in ("test_accuracy", "loss")
    )
    assert "mean 0.800, 95% interval [0.000, 1.000]" in share.detail
    assert "95% interval [-0.061, 1.661]" in loss.detail
    assert (share.verdict, share.p) == (loss.verdict, loss.p)


CLAIMS = [
    greater("", "accuracy", A, than=B),
    contrast("", "accuracy", [(1.0, A), (-1.0, B)]),
    level("", "accuracy", A, at_least=0.5),
    level("", "accuracy", A, at_most=0.5),
]


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize(
    ("a", "reason"),
    [
        ([0.9], "an interval needs at least 2"),
        ([0.9, 0.9], "two equal values have no interval"),
        ([0.9, np.nan], "not finite"),
        ([], "accuracy of a"),
    ],
)
def test_without_an_interval_a_claim_is_undecided_and_says_why(claim, a, reason):
    found = outcome_of(claim, table(a=a, b=[0.1, 0.1]))
    assert found.verdict is (UNDECIDED if a else NOT_MEASURED)
    assert reason in found.detail


@pytest.mark.parametrize("bound", [0.0, 0.05, 0.2])
def test_p_values_are_those_of_the_paired_t_test(bound):
    claim = greater("", "accuracy", A, than=B, by=bound)
    a, b = (PAIRED.query(f"name == '{name}'")["value"].to_numpy() for name in "ab")
    assert claim.judge(PAIRED).p == pytest.approx(scipy.stats.ttest_rel(a, b + bound).pvalue)


@pytest.mark.parametrize("bounds", [(0.2, 0.85), (0.2, 0.75), (0.85, 2.0)])
def test_between_two_bounds_the_nearer_one_has_the_p_value(bounds):
    values = [0.78, 0.80, 0.83]
    found = level("", "accuracy", A, at_least=bounds[0], at_most=bounds[1]).judge(table(a=values))
    nearer = min(bounds, key=lambda bound: abs(np.mean(values) - bound))
    assert found.p == pytest.approx(scipy.stats.ttest_1samp(values, nearer).pvalue)


def test_seeds_that_all_have_the_bound_do_not_refute_it():
    alike = table(a=[0.7] * 3, b=[0.7] * 3)
    over = greater("", "accuracy", A, than=B, matters=0.0).judge(alike)
    assert (over.verdict, over.p) == (UNDECIDED, 1)
    # at least .7, which includes .7; the mean of three is .6999999999999998 in floating point
    reached = level("", "accuracy", A, at_least=0.7).judge(alike)
    assert (reached.verdict, reached.p) == (HOLDS, 0.25)


@pytest.mark.parametrize("seeds", [5, 8])
def test_seeds_that_are_all_alike_are_judged_by_their_signs(seeds):
    results = table(a=[0.9] * seeds, b=[0.5] * seeds)
    for claim in (at(at_least=0.7), over(A, B), of_sum((1.0, A), (-1.0, B))):
        found = outcome_of(claim, results)
        assert claim.judge(results).p == pytest.approx(2 / 2**seeds)
        assert found.verdict is (UNDECIDED if seeds == 5 else HOLDS)


def test_rounding_is_no_difference():
    results = table(a=[0.1] * 9, b=[0.2] * 9, c=[0.3] * 9)
    sum_of_two = of_sum((1.0, A), (1.0, B), (-1.0, C))  # 5.6e-17 in floating point
    found = sum_of_two.judge(results)
    assert (found.verdict, found.p) == (UNDECIDED, 1)
    assert "contrast +0.000" in found.detail


def test_no_gain_at_all_is_no_gain():
    gains = results_of({("a", "gain_in_points"): [0.0] * 9})
    claim = level("", "gain_in_points", A, at_least=0.0, matters=0.01)
    assert outcome_of(claim, gains).verdict is UNDECIDED


def test_an_exact_claim_is_judged_by_changes_of_signs():
    a, b = [1.0] * 5 + [0.6], [0.0] * 5 + [0.5]
    results = table(a=a, b=b)
    over, under = (
        greater("", "accuracy", A, than=B, by=by, test="signs").judge(results) for by in (0.0, 1.2)
    )
    assert (over.verdict, under.verdict) == (HOLDS, FAILS)
    assert over.p == under.p == pytest.approx(2 / 2**6)  # all signs alike, on either side
    few = greater("", "accuracy", A, than=B, test="signs").judge(table(a=a[:5], b=b[:5]))
    assert few.verdict is UNDECIDED  # five seeds have no p value below .05


@settings(max_examples=10)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_adjusted_p_values_are_those_of_statsmodels(ps):
    expected = multipletests(ps, method="holm")[1]
    np.testing.assert_allclose(holm(np.array(ps)), expected, rtol=1e-12)


def test_verdicts_stand_where_the_p_value_adjusted_by_holm_does():
    results = table(a=[0.31, 0.60, 0.89], b=[0.20, 0.50, 0.80], c=[0.80, 0.85, 0.81], d=[0.5])
    strong = greater("", "accuracy", A, than=B)
    weak = level("", "accuracy", C, at_least=0.75)
    untested = level("", "accuracy", {"name": "d"}, at_least=0.1)
    p, of_weak = (claim.judge(results).p for claim in (strong, weak))
    assert 0.025 < of_weak < 0.05
    first, second, third = (j.outcome for j in judged([weak, untested, strong], results))
    assert first.verdict is HOLDS  # the largest of two p values counts once, the other twice
    assert third.detail.endswith(f"Holm p = {2 * p:.3f}".replace("0.", "."))
    assert "Holm" not in second.detail
    ((_, again),) = judged([weak], results, looks=2)
    assert again.verdict is UNDECIDED
    assert again.detail.endswith(f"Holm p = {2 * of_weak:.3f}".replace("0.", "."))
    alike = judged([weak, weak, strong], results)
    assert [j.outcome.verdict for j in alike] == [UNDECIDED, UNDECIDED, HOLDS]


@pytest.mark.parametrize(("at_least", "verdict"), [(0.3, HOLDS), (0.8, UNDECIDED)])
def test_a_claim_behind_a_gate_is_judged_where_the_gate_holds(at_least, verdict):
    gate = level("gate", "accuracy", B, at_least=at_least)
    (claim,) = if_open(gate, [level("", "accuracy", A, at_least=0.5)])
    found = outcome_of(claim, table(a=[0.9, 0.8, 0.9], b=[0.5, 0.6, 0.5]))
    assert found.verdict is verdict
    assert found.detail.startswith("not judged, the gate is closed") == (verdict is UNDECIDED)


def test_what_could_not_be_measured_has_its_reason():
    claims = [
        level("", "accuracy", {"name": "gpu"}, at_least=0.5),
        Claim("", lambda results: Outcome("judged"), needs=[(A, "accuracy")]),
    ]
    found = judged(claims, table(a=[0.1]), {"gpu": "no accelerator"})
    assert [j.outcome.detail for j in found] == ["no accelerator", "judged"]
