import math

import numpy as np
import pytest
import scipy.stats

from experiments.harness.claims import (
    Verdict,
    claim_contrast,
    claim_greater,
    claim_level,
    claim_median,
    claim_number,
    claim_trend,
    with_holm,
)
from experiments.harness.tables import results_frame

WORDING = {"text": "it does", "source": "Paper 2025, Table 1", "paper_value": "0.9"}
HOLDS, FAILS, INCONCLUSIVE = Verdict.HOLDS, Verdict.FAILS, Verdict.INCONCLUSIVE


def table(**by_setting):
    return results_frame(
        (setting, seed, "accuracy", value)
        for setting, values in by_setting.items()
        for seed, value in enumerate(values)
    )


# seeds differ a lot from each other, the two settings by 0.10 ± 0.01 on each of them
PAIRED = table(a=[0.31, 0.60, 0.89], b=[0.20, 0.50, 0.80])


@pytest.mark.parametrize(
    ("better", "worse", "by", "verdict"),
    [
        ("a", "b", 0.0, HOLDS),
        ("a", "b", 0.05, HOLDS),
        ("a", "b", 0.1, INCONCLUSIVE),
        ("a", "b", 0.2, FAILS),
        ("b", "a", 0.0, FAILS),
        ("b", "a", -0.2, HOLDS),
    ],
)
def test_greater_is_judged_by_the_paired_difference(better, worse, by, verdict):
    claim = claim_greater(PAIRED, "accuracy", better, worse, by=by, **WORDING)
    assert claim.verdict is verdict


def test_a_claim_carries_what_it_was_judged_by():
    claim = claim_greater(PAIRED, "accuracy", "a", "b", **WORDING)
    assert (claim.text, claim.source, claim.paper_value) == tuple(WORDING.values())
    assert claim.ours == "0.600 ± 0.167 (3 seeds) against 0.500 ± 0.173 (3 seeds)"
    # standard error 0.01 / sqrt(3), t quantile 4.3027 at 2 degrees of freedom: half width 0.0248
    assert claim.detail == "paired difference +0.100, 95% interval [+0.075, +0.125], 3 seeds"


@pytest.mark.parametrize(
    ("values", "threshold", "at_least", "at_most"),
    [
        ([0.8, 0.82, 0.81], 0.7, HOLDS, FAILS),
        ([0.8, 0.82, 0.81], 0.81, INCONCLUSIVE, INCONCLUSIVE),
        ([0.8, 0.82, 0.81], 0.9, FAILS, HOLDS),
        ([1.0, 1.0, 1.0], 1.0, HOLDS, HOLDS),
    ],
)
def test_thresholds(values, threshold, at_least, at_most):
    results = table(a=values)
    assert claim_level(results, "a", "accuracy", at_least=threshold, **WORDING).verdict is at_least
    assert claim_level(results, "a", "accuracy", at_most=threshold, **WORDING).verdict is at_most


@pytest.mark.parametrize(
    ("middle", "last", "rises", "falls"),
    [
        ([0.5, 0.6], [0.9, 1.1], HOLDS, FAILS),
        ([0.1, 0.2], [0.0, 0.11], FAILS, HOLDS),
        ([0.5, 0.6], [0.1, 0.3], INCONCLUSIVE, INCONCLUSIVE),
    ],
)
def test_trends_are_judged_by_the_paired_slope(middle, last, rises, falls):
    results = table(first=[0.1, 0.2], middle=middle, last=last)
    order = ["first", "middle", "last"]
    rising = claim_trend(results, "accuracy", order, rising=True, **WORDING)
    falling = claim_trend(results, "accuracy", order, rising=False, **WORDING)
    assert (rising.verdict, falling.verdict) == (rises, falls)


def test_a_trend_uses_the_positions_given():
    results = table(a=[0.0, 0.0], b=[0.0, 0.1], c=[0.4, 0.5])
    claim = claim_trend(
        results, "accuracy", ["a", "b", "c"], rising=True, positions=[0, 10, 20], **WORDING
    )
    assert claim.detail.startswith("slope +0.022")


def test_one_seed_proves_nothing():
    results = table(a=[0.9], b=[0.1, 0.1])
    for claim in (
        claim_greater(results, "accuracy", "a", "b", **WORDING),
        claim_trend(results, "accuracy", ["a", "b"], rising=True, **WORDING),
        claim_level(results, "a", "accuracy", at_least=0.5, **WORDING),
        claim_level(results, "a", "accuracy", at_most=0.5, **WORDING),
    ):
        assert claim.verdict is INCONCLUSIVE
        assert "an interval needs at least 2" in claim.detail


def test_two_seeds_with_the_same_value_prove_nothing():
    results = table(a=[0.9, 0.8], b=[0.2, 0.1])
    difference = claim_greater(results, "accuracy", "a", "b", **WORDING)
    trend = claim_trend(results, "accuracy", ["b", "a"], rising=True, **WORDING)
    level = claim_level(table(a=[0.9, 0.9]), "a", "accuracy", at_least=0.5, **WORDING)
    for claim in (difference, trend, level):
        assert claim.verdict is INCONCLUSIVE
        assert "two equal values have no interval" in claim.detail


def test_a_diverged_seed_is_inconclusive_and_said():
    claim = claim_level(table(a=[0.9, np.nan]), "a", "accuracy", at_least=0.5, **WORDING)
    assert claim.verdict is INCONCLUSIVE
    assert "not finite" in claim.detail


def test_what_was_not_measured_is_inconclusive_and_named():
    results = table(a=[0.1, 0.2])
    for claim in (
        claim_greater(results, "accuracy", "a", "x", **WORDING),
        claim_trend(results, "accuracy", ["a", "x"], rising=True, **WORDING),
        claim_level(results, "x", "accuracy", at_least=0.5, **WORDING),
        claim_level(results, "x", "accuracy", at_most=0.5, **WORDING),
    ):
        assert claim.verdict is INCONCLUSIVE
        assert claim.detail == "not measured: accuracy of x"


def test_a_contrast_is_judged_by_its_weighted_sum_seed_by_seed():
    results = table(a=[0.9, 0.8, 0.7], b=[0.5, 0.5, 0.3], c=[0.3, 0.1, 0.1])
    claim = claim_contrast(results, "accuracy", {"a": 1.0, "b": -0.5, "c": -0.5}, **WORDING)
    expected = np.mean([0.5, 0.5, 0.5])
    assert claim.detail.startswith(f"contrast {expected:+.3f}")
    assert claim.verdict is HOLDS
    assert claim_contrast(results, "accuracy", {"a": -1.0, "b": 1.0}, **WORDING).verdict is FAILS
    missing = claim_contrast(results, "accuracy", {"a": 1.0, "x": -1.0}, **WORDING)
    assert missing.detail == "not measured: accuracy of x"


@pytest.mark.parametrize("bound", [0.0, 0.05, 0.2])
def test_p_values_are_those_of_the_paired_t_test(bound):
    claim = claim_greater(PAIRED, "accuracy", "a", "b", by=bound, **WORDING)
    a, b = (PAIRED.query(f"setting == '{name}'")["value"].to_numpy() for name in "ab")
    assert claim.p == pytest.approx(scipy.stats.ttest_rel(a, b + bound).pvalue)


def test_verdicts_stand_where_the_p_value_adjusted_by_holm_does():
    strong = claim_greater(PAIRED, "accuracy", "a", "b", **WORDING)
    weak = claim_level(table(a=[0.80, 0.85, 0.81]), "a", "accuracy", at_least=0.75, **WORDING)
    untested = claim_level(table(a=[0.5]), "a", "accuracy", at_least=0.1, **WORDING)
    assert (strong.verdict, weak.verdict) == (HOLDS, HOLDS)
    assert 0.025 < weak.p < 0.05
    first, second, third = with_holm([weak, untested, strong])
    assert first.verdict is HOLDS  # the largest of two p values counts once, the other twice
    assert third.detail.endswith(f"Holm p = {2 * strong.p:.3f}".replace("0.", "."))
    assert (second.detail, math.isnan(second.p)) == (untested.detail, True)
    alike = with_holm([weak, weak, strong])
    assert [claim.verdict for claim in alike] == [INCONCLUSIVE, INCONCLUSIVE, HOLDS]


def test_seeds_that_all_agree_leave_no_doubt():
    (claim,) = with_holm([claim_level(table(a=[1.0] * 3), "a", "accuracy", at_least=1, **WORDING)])
    assert claim.verdict is HOLDS
    assert claim.detail.endswith("Holm p < .001")


TIMES = [0.80, 0.81, 0.82, 0.83, 0.84, 0.85, 0.86, 0.87, 9.0]  # one round beside a neighbour


@pytest.mark.parametrize(
    ("bound", "at_least", "at_most"),
    [(0.7, HOLDS, FAILS), (0.85, INCONCLUSIVE, INCONCLUSIVE), (0.88, FAILS, HOLDS)],
)
def test_a_median_is_judged_by_its_own_interval(bound, at_least, at_most):
    results = table(a=TIMES)
    for judged, bounds in ((at_least, {"at_least": bound}), (at_most, {"at_most": bound})):
        claim = claim_median(results, "a", "accuracy", **bounds, **WORDING)
        assert claim.verdict is judged
        assert claim.detail == "median 0.84, 95% interval [0.81, 0.87], 9 seeds"
        assert claim.ours == "0.84 (9 seeds)"


@pytest.mark.parametrize(
    ("values", "detail"),
    [([0.8] * 5, "needs at least 6"), ([0.8] * 8 + [np.nan], "not finite"), ([], "not measured")],
)
def test_a_median_without_an_interval_is_inconclusive(values, detail):
    claim = claim_median(table(a=values), "a", "accuracy", at_most=1.0, **WORDING)
    assert claim.verdict is INCONCLUSIVE
    assert detail in claim.detail


@pytest.mark.parametrize(
    ("values", "ours", "verdict"),
    [
        ([0.0408], "0.0408", HOLDS),
        ([0.2], "0.2", FAILS),
        ([0.04, 0.2], "0.04 to 0.2", INCONCLUSIVE),
        ([np.nan], "nan", INCONCLUSIVE),
        ([], "", INCONCLUSIVE),
    ],
)
def test_a_number_is_judged_by_itself(values, ours, verdict):
    claim = claim_number(table(a=values), "a", "accuracy", at_most=0.15, **WORDING)
    assert (claim.verdict, claim.ours) == (verdict, ours)
