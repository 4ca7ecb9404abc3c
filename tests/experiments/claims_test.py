"""Claims as rows: their verdicts by hand, by scipy, and at the edges of what was measured."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings, strategies as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

from experiments.harness.claims import contrast, greater, level, median, number, trend
from experiments.harness.judging import Claim, Outcome, Verdict, holm, if_open, judged
from experiments.harness.tables import tidy
from tests.experiments.toys import results_of

HOLDS, FAILS, SMALL, UNDECIDED, NOT_MEASURED = Verdict
A, B, C = ({"name": name} for name in "abc")


def table(**values):
    return results_of({(name, "accuracy"): numbers for name, numbers in values.items()})


def outcome_of(claim, results):
    """The verdict on a claim by itself, before others are counted."""
    (found,) = judged([claim], results)
    return found.outcome


# seeds differ a lot from each other; on each seed the two settings differ by 0.10 ± 0.01
PAIRED = table(a=[0.31, 0.60, 0.89], b=[0.20, 0.50, 0.80])


@pytest.mark.parametrize(
    ("better", "worse", "by", "verdict"),
    [
        (A, B, 0.0, HOLDS),
        (A, B, 0.05, HOLDS),
        (A, B, 0.1, UNDECIDED),
        (A, B, 0.2, FAILS),
        (B, A, 0.0, FAILS),
        (B, A, -0.2, HOLDS),
    ],
)
def test_greater_is_judged_by_the_paired_difference(better, worse, by, verdict):
    claim = greater("it does", "accuracy", better, than=worse, by=by)
    assert outcome_of(claim, PAIRED).verdict is verdict


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


def test_a_small_difference_of_a_known_sign_has_the_verdict_of_its_sign():
    results = table(a=[0.51, 0.62, 0.80], b=[0.50, 0.61, 0.789])
    assert outcome_of(greater("", "accuracy", A, than=B, matters=0.1), results).verdict is HOLDS


def test_a_level_of_a_difference_may_be_too_small():
    gain = level("", "accuracy", A, at_least=0.0, matters=0.05)
    assert outcome_of(gain, table(a=[0.01, -0.01, 0.005])).verdict is SMALL
    assert outcome_of(gain, table(a=[0.09, -0.01, 0.005])).verdict is UNDECIDED


@pytest.mark.parametrize(
    ("values", "threshold", "at_least", "at_most"),
    [
        ([0.8, 0.82, 0.81], 0.7, HOLDS, FAILS),
        ([0.8, 0.82, 0.81], 0.81, UNDECIDED, UNDECIDED),
        ([0.8, 0.82, 0.81], 0.9, FAILS, HOLDS),
        ([1.0, 1.0, 1.0], 1.0, HOLDS, HOLDS),
    ],
)
def test_levels(values, threshold, at_least, at_most):
    results = table(a=values)
    assert outcome_of(level("", "accuracy", A, at_least=threshold), results).verdict is at_least
    assert outcome_of(level("", "accuracy", A, at_most=threshold), results).verdict is at_most


def test_the_interval_of_a_share_stays_between_0_and_1():
    results = results_of({("a", "test_accuracy"): [1.0, 1.0, 0.4], ("a", "loss"): [1.0, 1.0, 0.4]})
    share, loss = (
        outcome_of(level("", m, A, at_least=0.1), results) for m in ("test_accuracy", "loss")
    )
    assert "mean 0.800, 95% interval [0.000, 1.000]" in share.detail
    assert "95% interval [-0.061, 1.661]" in loss.detail
    assert (share.verdict, share.p) == (loss.verdict, loss.p)


def by_width(**rows):
    """Results of widths 8, 16, ..., from the values by seed of each."""
    return tidy(
        {"width": 8 * 2**i, "seed": seed, "metric": "accuracy", "value": value}
        for i, values in enumerate(rows.values())
        for seed, value in enumerate(values)
    )


@pytest.mark.parametrize(
    ("middle", "last", "rises", "falls"),
    [
        ([0.5, 0.6], [0.9, 1.1], HOLDS, FAILS),
        ([0.1, 0.2], [0.0, 0.11], FAILS, HOLDS),
        ([0.5, 0.6], [0.1, 0.3], UNDECIDED, UNDECIDED),
    ],
)
def test_trends_are_judged_by_the_paired_slope(middle, last, rises, falls):
    results = by_width(first=[0.1, 0.2], middle=middle, last=last)
    for rising, verdict in ((True, rises), (False, falls)):
        claim = trend("", "accuracy", {}, "width", rising=rising)
        assert outcome_of(claim, results).verdict is verdict


def test_a_trend_uses_the_positions_given():
    results = by_width(a=[0.0, 0.0], b=[0.0, 0.1], c=[0.4, 0.5])
    claim = trend("", "accuracy", {}, "width", rising=True, position=lambda w: 10 * np.log2(w))
    assert outcome_of(claim, results).detail.startswith("slope +0.022")


def test_a_trend_over_one_level_is_not_measured():
    found = outcome_of(trend("", "accuracy", {}, "width", rising=True), by_width(a=[0.1, 0.2]))
    assert found.verdict is NOT_MEASURED
    assert found.detail == "accuracy at two values of width"


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


def test_a_contrast_is_judged_by_its_weighted_sum_seed_by_seed():
    results = table(a=[0.9, 0.8, 0.7], b=[0.5, 0.5, 0.3], c=[0.3, 0.1, 0.1])
    found = outcome_of(contrast("", "accuracy", [(1.0, A), (-1.0, {"name": ("b", "c")})]), results)
    assert found.detail.startswith(f"contrast {np.mean([0.5, 0.5, 0.5]):+.3f}")
    assert found.verdict is HOLDS
    turned = contrast("", "accuracy", [(-1.0, A), (1.0, B)])
    assert outcome_of(turned, results).verdict is FAILS


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
    assert (reached.verdict, reached.p) == (HOLDS, 0)


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


@settings(max_examples=10, derandomize=True, deadline=None)
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


TIMES = [0.80, 0.81, 0.82, 0.83, 0.84, 0.85, 0.86, 0.87, 9.0]  # another program slowed one round


@pytest.mark.parametrize(
    ("bound", "at_least", "at_most"),
    [(0.7, HOLDS, FAILS), (0.85, UNDECIDED, UNDECIDED), (0.88, FAILS, HOLDS)],
)
def test_a_median_is_judged_by_its_own_interval(bound, at_least, at_most):
    for verdict, bounds in ((at_least, {"at_least": bound}), (at_most, {"at_most": bound})):
        found = outcome_of(median("", "accuracy", A, **bounds), table(a=TIMES))
        assert found.verdict is verdict
        assert found.detail == "median 0.84, 95% interval [0.81, 0.87], 9 seeds"
        assert found.ours == "0.84 (9 seeds)"


@pytest.mark.parametrize(
    ("values", "ours", "verdict"),
    [
        ([0.0408], "0.0408", HOLDS),
        ([0.2], "0.2", FAILS),
        ([0.04, 0.2], "0.04 to 0.2", UNDECIDED),
        ([np.nan], "nan", UNDECIDED),
        ([], "", NOT_MEASURED),
    ],
)
def test_a_number_is_judged_by_itself(values, ours, verdict):
    found = outcome_of(number("", "accuracy", A, at_most=0.15), table(a=values, b=[1.0]))
    assert (found.verdict, found.ours) == (verdict, ours)
