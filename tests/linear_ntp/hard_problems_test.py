"""Data that are hard in float64: an answer is right, or the solver gives none."""

import itertools

import numpy as np
import pytest
from exact_oracle import is_separable, problem_of
from hypothesis import given, settings, strategies as st
from margin_problems import balanced, crowded, facets, generic, with_embeddings

from el_jax.linear_ntp import (
    FarkasMatrix,
    NotSeparableError,
    SeparatingMatrix,
    antipodal_problem,
    check_separability,
    max_margin,
    random_problem,
    verify_certificate,
)
from el_jax.linear_ntp.theory.exact import exact_combination

NORMS = ("frobenius", "max", "spectral")
SUPPORTS = [s for size in (1, 2, 3) for s in itertools.combinations(range(3), size)]


def integer_problems(count, seed):
    """Problems with integer data in two dimensions, with three contexts and three tokens."""
    rng = np.random.default_rng(seed)
    while count:
        supports = [SUPPORTS[i] for i in rng.integers(len(SUPPORTS), size=3)]
        if min(map(len, supports)) < 3:
            yield problem_of(rng.integers(-2, 3, (2, 3)), supports, 3)
            count -= 1


def test_exact_oracle_knows_what_is_known():
    assert not is_separable(problem_of(np.zeros((2, 3)), [{0}, {1}, {2}], 3))
    assert not is_separable(antipodal_problem())
    assert not is_separable(problem_of([[1, 10, 0], [0, 1, 1]], [{0, 1}, {0, 1}, {0}], 3))
    assert is_separable(problem_of([[1, 10, 0], [0, 1, 1]], [{0, 1}, {0, 1}, {2}], 4))
    assert is_separable(problem_of([[1, 0], [0, 1]], [{0, 1}, {2}], 3))


def test_verdicts_and_solutions_of_small_integers_are_those_of_exact_arithmetic():
    seen = {True: 0, False: 0}
    for problem in integer_problems(150, seed=0):
        truth = is_separable(problem)
        seen[truth] += 1
        assert check_separability(problem).holds is truth
        for norm in ("frobenius", "max"):
            assert has_solution(problem, norm) is truth
    assert min(seen.values()) > 30


def has_solution(problem, norm):
    """True if the problem has a max margin. Plain arithmetic must confirm either verdict."""
    try:
        found = max_margin(problem, norm)
    except NotSeparableError as error:
        certificate, gap = error.certificate, 0.0
    else:
        certificate, gap = SeparatingMatrix(found.w), found.gap
    assert verify_certificate(problem, certificate).valid
    assert abs(gap) < 1e-9
    return isinstance(certificate, SeparatingMatrix)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("length", [10, 30, 100, 1000])
def test_there_is_no_solution_where_there_is_no_margin(norm, length):
    chain = problem_of([[1, length, 0], [0, 1, 1]], [{0, 1}, {0, 1}, {0}], 3)
    assert check_separability(chain).holds is False
    with pytest.raises(NotSeparableError):
        max_margin(chain, norm)
    small = problem_of([[1, -1, 1], [2, 1, 2]], [{0, 1}, {0, 1, 2}, {0, 1, 2}], 3)
    with pytest.raises(NotSeparableError):
        max_margin(small, norm)


def assert_solved(problem, norm="frobenius", gap=1e-7):
    assert check_separability(problem).holds is True
    found = max_margin(problem, norm, tolerance=gap)
    assert abs(found.gap) <= gap
    assert verify_certificate(problem, SeparatingMatrix(found.w)).valid
    return found


def contradictory_near_duplicate(seed):
    """Inseparable data, in which two contexts of equal support have embeddings 1e-6 apart."""
    rng = np.random.default_rng([seed, 15])
    embeddings = rng.standard_normal((4, 5))
    supports = [set(rng.choice(5, rng.choice([1, 2, 3]), replace=False)) for _ in range(5)]
    rng.uniform()
    embeddings[:, 1] = embeddings[:, 0] + 1e-6 * rng.standard_normal(4)
    return problem_of(embeddings, [supports[0], *supports[:1], *supports[2:]], 5)


@pytest.mark.parametrize("seed", [7, 40])
def test_near_duplicates_that_contradict_are_refused_in_twice_the_digits(seed):
    problem = contradictory_near_duplicate(seed)
    assert not is_separable(problem)
    verdict = check_separability(problem)
    assert verdict.holds is False
    b, rest = verdict.certificate.b, verdict.certificate.rest
    assert not verify_certificate(problem, FarkasMatrix(b)).valid
    assert verify_certificate(problem, FarkasMatrix(b, rest)).valid
    assert not verify_certificate(problem, FarkasMatrix(b, -rest)).valid
    with pytest.raises(NotSeparableError):
        max_margin(problem)


def decided_by_a_difference(seed, nearness):
    """Inseparable: near-duplicates equate, at their difference, what a third context sets apart."""
    rng = np.random.default_rng(seed)
    embeddings = np.round(rng.standard_normal((3, 5)) * 2**10) / 2**10
    embeddings[:, 1] = embeddings[:, 0] + embeddings[:, 2] * 2.0**-nearness  # without rounding
    others = [set(rng.choice(4, rng.choice([1, 2, 3]), replace=False)) for _ in range(2)]
    return problem_of(embeddings, [{0, 1}, {0, 1}, {0}, *others], 4)


@pytest.mark.parametrize(("seed", "nearness"), [(9, 24), (10, 25), (33, 30), (25, 31)])
def test_a_decoder_does_not_hide_the_difference_of_near_duplicates(seed, nearness):
    problem = decided_by_a_difference(seed, nearness)
    assert not is_separable(problem)
    assert check_separability(problem).holds is False
    with pytest.raises(NotSeparableError):
        max_margin(problem)


def test_exact_combinations_lose_nothing():
    b, rest = np.array([[1e20, -1e20]]), np.array([[1.0, 1e-20]])
    found = exact_combination(b, rest, np.array([[1.0, 1.0]]))
    np.testing.assert_array_equal(found.product, [[1 + 1e-20]])
    np.testing.assert_array_equal(found.sums, [1e20 + 1, -1e20 + 1e-20])
    exact = exact_combination(b, rest, np.array([[1.0, 1.0 + 2.0**-52]]))
    np.testing.assert_array_equal(exact.product, [[1 - 1e20 * 2.0**-52]])


def test_separable_data_have_a_spectral_solution_whatever_its_gap():
    base, direction = generic(2), np.random.default_rng(0).standard_normal((24, 1))
    problem = with_embeddings(base, base.embeddings + 100 * direction)
    with pytest.warns(
        RuntimeWarning, match=r"spectral norm: relative gap .* above tolerance=1e-10"
    ):
        found = max_margin(problem, "spectral", max_iterations=200)
    assert verify_certificate(problem, SeparatingMatrix(found.w)).valid
    lower, upper = found.interval
    assert 0 < lower < upper


@settings(max_examples=25)
@given(
    family=st.sampled_from([generic, facets, balanced, crowded]),
    seed=st.integers(0, 5),
    exponents=st.lists(st.floats(-6, 6), min_size=20, max_size=20),
)
def test_separability_does_not_change_with_the_lengths_of_embeddings(family, seed, exponents):
    problem = family(seed)
    longer = with_embeddings(problem, problem.embeddings * 10.0 ** np.array(exponents))
    assert check_separability(longer).holds is check_separability(problem).holds


@pytest.mark.parametrize("scale", [1e-30, 1e-10, 1e-8, 1e8, 1e30])
def test_only_the_margin_changes_with_the_scale(scale):
    problem = generic(1)
    tiny = with_embeddings(problem, scale * problem.embeddings)
    for norm in ("frobenius", "max"):
        margin = assert_solved(problem, norm).margin
        np.testing.assert_allclose(assert_solved(tiny, norm).margin, scale * margin, rtol=1e-9)
    apart = balanced(1)
    with pytest.raises(NotSeparableError):
        max_margin(with_embeddings(apart, scale * apart.embeddings), "max")


@pytest.mark.parametrize("norm", NORMS)
def test_zero_embeddings_have_no_margin(norm):
    nothing = problem_of(np.zeros((2, 3)), [{0}, {1}, {2}], 3)
    with pytest.raises(NotSeparableError):
        max_margin(nothing, norm)


def test_independent_embeddings_are_separable_however_near():
    base, rng = random_problem(5, 6, 6, 2, seed=1), np.random.default_rng(0)
    embeddings = base.embeddings.copy()
    embeddings[:, 1] = embeddings[:, 0] + 1e-8 * rng.standard_normal(6)
    verdict = check_separability(with_embeddings(base, embeddings))
    assert verdict.holds is True
