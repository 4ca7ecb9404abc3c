import numpy as np
import pytest
from margin_problems import INSEPARABLE, SEPARABLE, balanced, with_embeddings

from el_jax.linear_ntp import (
    FarkasMatrix,
    FiniteSolution,
    FredholmMatrix,
    NotSeparableError,
    NTPProblem,
    SeparatingMatrix,
    UndecidedError,
    antipodal_problem,
    check_compatibility,
    check_separability,
    crowded_problem,
    duplicate_problem,
    facet_problem,
    max_margin,
    random_problem,
    teacher_problem,
    verify_certificate,
)
from el_jax.linear_ntp.solvers.frobenius import frobenius_bracket
from el_jax.linear_ntp.solvers.scaling import scaled


def assert_separability(problem, holds):
    verdict = check_separability(problem)
    assert verdict.holds is holds, verdict.reason
    assert isinstance(verdict.certificate, SeparatingMatrix if holds else FarkasMatrix)
    assert verify_certificate(problem, verdict.certificate).valid
    lower, upper = verdict.margin_interval
    assert (lower > 0) is holds
    assert upper >= lower
    return verdict


def assert_compatibility(problem, holds):
    verdict = check_compatibility(problem)
    assert verdict.holds is holds, verdict.reason
    assert isinstance(verdict.certificate, FiniteSolution if holds else FredholmMatrix)
    assert verify_certificate(problem, verdict.certificate).valid
    assert (verdict.relative_residual < 1e-9) is holds
    return verdict


def test_four_hundred_problems_without_a_wrong_verdict():
    for seed in range(40):
        for family in SEPARABLE:
            assert_separability(family(seed), True)
    for seed in range(50):
        for family in INSEPARABLE:
            assert_separability(family(seed), False)


def test_verdicts_near_the_threshold_are_those_of_max_margin():
    verdicts = []
    for seed in range(8):
        problem = random_problem(24, 12, 6, 2, seed=seed)
        verdict = check_separability(problem)
        verdicts.append(verdict.holds)
        try:
            margin = max_margin(problem).margin
        except NotSeparableError:
            assert verdict.holds is False
        else:
            assert verdict.holds is True
            lower, upper = verdict.margin_interval
            assert lower * (1 - 1e-9) <= margin <= upper
    assert set(verdicts) == {True, False}


def test_colliding_contexts_are_named():
    verdict = assert_separability(antipodal_problem(), False)
    assert verdict.reason == "contexts 0 and 1 have antipodal embeddings, overlapping supports"
    verdict = assert_separability(duplicate_problem(), False)
    assert verdict.reason == "contexts 0 and 1 have equal embeddings, different supports"
    assert_compatibility(duplicate_problem(), True)
    verdict = assert_compatibility(duplicate_problem(same_support=True), False)
    assert verdict.reason.startswith("contexts 0 and 1 have equal embeddings, different ratios")
    assert_separability(duplicate_problem(same_support=True), True)


@pytest.mark.parametrize(("ratio", "word"), [(3.0, "parallel"), (1 / 3, "parallel"), (0.0, "zero")])
def test_parallel_embeddings_collide_too(ratio, word):
    base = duplicate_problem()
    embeddings = base.embeddings * np.array([1.0, ratio, 1.0])
    assert word in assert_separability(with_embeddings(base, embeddings), False).reason


def test_supports_inside_each_other_collide():
    probs = np.array([[0.5, 1.0], [0.5, 0.0], [0.0, 0.0]])
    nested = NTPProblem(np.ones((2, 2)), np.full(2, 0.5), probs)
    assert_separability(nested, False)
    assert_separability(NTPProblem(np.ones((2, 2)), np.full(2, 0.5), probs[:, ::-1]), False)


def test_zero_embedding_asks_for_uniform_probabilities():
    probs = np.array([[0.5, 0.7], [0.5, 0.3], [0.0, 0.0]])
    embeddings = np.array([[1.0, 0.0], [0.5, 0.0]])
    problem = NTPProblem(embeddings, np.full(2, 0.5), probs)
    assert "context 1 is zero" in assert_compatibility(problem, False).reason
    assert_compatibility(NTPProblem(embeddings, np.full(2, 0.5), probs[:, ::-1]), True)


def test_crowded_contexts_are_counted():
    verdict = assert_compatibility(crowded_problem(), False)
    assert "contexts 0, 1, 2, 3, 4 together" in verdict.reason
    assert verdict.reason.endswith("ask for 5 log ratios of 3 unknowns")
    # contexts apart from the crowd are not its members
    crowd = crowded_problem()
    embeddings = np.zeros((6, 7))
    embeddings[:3, :5], embeddings[3:5, 5:] = crowd.embeddings, np.eye(2)
    probs = np.zeros((5, 7))
    probs[:3, :5], probs[3:, 5:] = crowd.next_token_probs, [[0.5, 0.2], [0.5, 0.8]]
    verdict = assert_compatibility(NTPProblem(embeddings, np.full(7, 1 / 7), probs), False)
    assert "contexts 0, 1, 2, 3, 4 together" in verdict.reason


@pytest.mark.parametrize("seed", range(4))
def test_compatible_and_incompatible_data(seed):
    assert_compatibility(teacher_problem(30, 4, 6, 3, seed=seed), True)
    assert_compatibility(facet_problem(20, 5, 8, 4, seed=seed), True)
    assert_compatibility(random_problem(20, 24, 8, 3, seed=seed), True)
    assert_compatibility(random_problem(24, 4, 6, 2, seed=seed), False)


def test_ascent_ends_at_a_farkas_matrix():
    found = frobenius_bracket(scaled(balanced(1)), tolerance=1e-10, max_iterations=5000)
    assert found.lower == 0
    assert found.upper < 1e-12
    assert found.iterations < 5000


def test_too_few_iterations_are_no_verdict(monkeypatch):
    monkeypatch.setattr("el_jax.linear_ntp.solvers.conditions.is_affordable", lambda problem: False)
    problem = random_problem(24, 14, 6, 2, seed=1)
    verdict = check_separability(problem, max_iterations=3)
    assert verdict.holds is None
    assert verdict.certificate is None
    assert verdict.reason.startswith("undecided")
    assert verdict.margin_interval[0] == 0
    assert verdict.margin_interval[1] >= max_margin(problem).margin
    with pytest.raises(UndecidedError, match="undecided: the max margin lies in") as raised:
        max_margin(problem, max_iterations=3)
    assert raised.value.interval == pytest.approx(verdict.margin_interval)


def test_linear_program_decides_what_ascent_leaves_open():
    assert check_separability(random_problem(24, 14, 6, 2, seed=1), max_iterations=3).holds is True
    assert check_separability(random_problem(24, 12, 6, 2, seed=2), max_iterations=3).holds is False
