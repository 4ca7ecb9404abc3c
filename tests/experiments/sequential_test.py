"""Bets are checked by hand, exactly over all outcomes, and on claims of simulated experiments."""

import bisect
import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from experiments.harness.claims import greater, level
from experiments.harness.judging import Verdict, judged
from experiments.harness.sequential import (
    DIFFERENCES,
    FRACTIONS,
    SHARES,
    Range,
    anytime_interval,
    judged_by_bets,
    p_above,
    p_below,
    p_equal,
)
from tests.experiments.toys import results_of

A, B = {"name": "a"}, {"name": "b"}
shares = st.lists(st.sampled_from([0.0, 0.02, 0.5, 0.97, 1.0]), min_size=1, max_size=12)


@pytest.mark.parametrize(("values", "looks"), [([0.9, 0.8], 2), ([0.9, 0.1], 1)])
def test_the_p_value_is_one_over_the_largest_capital_of_all_looks(values, looks):
    bound = 0.4
    gains = [1 + FRACTIONS * (value - bound) / bound for value in values]
    capital = np.prod(gains[:looks], axis=0).mean()
    assert p_above(np.array(values), bound, SHARES) == pytest.approx(1 / capital)


@pytest.mark.parametrize("mean", [0.2, 0.5, 0.7])
@pytest.mark.parametrize("matters", [0.0, 0.1])
def test_it_is_below_alpha_with_probability_at_most_alpha_over_all_outcomes(mean, matters):
    outcomes = np.array(list(itertools.product([0.0, 1.0], repeat=12)))
    chances = np.prod(np.where(outcomes == 1, mean, 1 - mean), axis=1)
    for side in (p_above, p_below):
        found = np.array([side(outcome, mean, SHARES, matters) for outcome in outcomes])
        for alpha in (0.3, 0.1, 0.05):
            assert chances[found <= alpha].sum() <= alpha
        assert found.min() < 0.3


@settings(max_examples=30)
@given(shares)
def test_a_higher_bound_is_refuted_by_less(values):
    found = [p_above(np.array(values), bound, SHARES) for bound in (0.0, 0.1, 0.4, 0.8, 1.0)]
    assert found == sorted(found)
    assert found[0] == (0.0 if max(values) > 0 else 1.0)


@settings(max_examples=30)
@given(shares)
def test_either_side_is_the_other_turned_round(values):
    turned, within = 1 - np.array(values), Range(0.0, 1.0)
    assert p_below(np.array(values), 0.3, SHARES) == pytest.approx(p_above(turned, 0.7, within))


@settings(max_examples=20)
@given(shares)
def test_the_interval_has_the_bounds_that_are_not_refuted(values):
    low, high = anytime_interval(np.array(values), SHARES, 0.95)
    for bound in np.linspace(0.01, 0.99, 15):
        if abs(bound - low) > 1e-6 and abs(bound - high) > 1e-6:
            refuted = p_equal(np.array(values), bound, SHARES) <= 0.05
            assert refuted == (not low < bound < high)


def test_without_values_nothing_is_refuted():
    assert p_above(np.array([]), 0.5, SHARES) == 1.0
    assert anytime_interval(np.array([]), SHARES, 0.95) == (0.0, 1.0)


def drawn(rng, share, num):
    """Accuracies of runs: about this share of them copies, and the others are near chance."""
    return np.where(rng.random(num) < share, 1 - 0.02 * rng.random(num), 0.1 * rng.random(num))


def looked_at(differences, matters):
    """The verdict of looks after every seed, and the number of seeds.

    A decision does not change later, so bisection finds the first look that decides.
    """

    def verdict(seeds):
        return judged_by_bets("", differences[:seeds], 0.0, DIFFERENCES, matters=matters).verdict

    looks = range(1, len(differences) + 1)
    first = bisect.bisect_left(looks, True, key=lambda n: verdict(n) is not Verdict.UNDECIDED)
    seeds = looks[min(first, len(differences) - 1)]
    return verdict(seeds), seeds


@pytest.mark.slow
def test_verdicts_of_2000_simulated_claims_looked_at_after_every_seed():
    # A fixed design needs 34 seeds for power .9 at the effect that matters (paired t test,
    # simulated); the true effects are zero, that effect, and 1.5 times that effect.
    matters, fixed, rng = 0.4, 34, np.random.default_rng(0)
    verdicts, seeds = {}, {}
    for effect in (0.0, matters, 1.5 * matters):
        said = [
            looked_at(drawn(rng, 0.3 + effect, 64) - drawn(rng, 0.3, 64), matters)
            for _ in range(667)
        ]
        verdicts[effect] = [verdict for verdict, _ in said]
        seeds[effect] = np.mean([seeds for _, seeds in said])
    none, some, more = (
        {verdict: found.count(verdict) / len(found) for verdict in Verdict}
        for found in verdicts.values()
    )
    assert none[Verdict.HOLDS] + none[Verdict.FAILS] <= 0.05
    assert some[Verdict.FAILS] + some[Verdict.SMALL] <= 0.05
    assert min(some[Verdict.HOLDS], more[Verdict.HOLDS]) >= 0.9
    assert np.mean(list(seeds.values())) <= 0.7 * fixed


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ([0.95] * 14, [0.05] * 14, Verdict.HOLDS),
        ([0.05] * 14, [0.95] * 14, Verdict.FAILS),
        ([0.51] * 64, [0.5] * 64, Verdict.SMALL),
        ([0.6] * 2_000, [0.5] * 2_000, Verdict.HOLDS),  # small, too, but shown to be above
        ([0.95] * 3, [0.05] * 3, Verdict.UNDECIDED),
        ([], [0.5], Verdict.NOT_MEASURED),
        ([1.5] * 14, [0.05] * 14, Verdict.UNDECIDED),  # not a share
        ([0.95] * 14 + [np.nan], [0.05] * 15, Verdict.UNDECIDED),  # a run diverged
        ([0.95] * 15, [0.05] * 14, Verdict.HOLDS),  # one of them has no partner yet
    ],
)
def test_a_claim_is_judged_by_bets(a, b, verdict):
    claim = greater("", "accuracy", A, than=B, test="anytime", matters=0.4)
    ((_, outcome),) = judged([claim], results_of({("a", "accuracy"): a, ("b", "accuracy"): b}))
    assert outcome.verdict is verdict, outcome


@pytest.mark.parametrize(
    ("bounds", "verdict"),
    [
        ({"at_least": 0.6}, Verdict.HOLDS),
        ({"at_most": 0.6}, Verdict.FAILS),
        ({"at_most": 0.98}, Verdict.UNDECIDED),
        ({"at_least": 1.0}, Verdict.FAILS),  # one value below 1 refutes it
    ],
)
def test_a_level_is_judged_by_bets(bounds, verdict):
    claim = level("", "accuracy", A, test="anytime", **bounds)
    ((_, outcome),) = judged([claim], results_of({("a", "accuracy"): [0.97, 0.95, 1.0] * 5}))
    assert outcome.verdict is verdict, outcome
