import numpy as np
from margin_problems import generic, with_embeddings

from el_jax.linear_ntp import (
    UndecidedError,
    analysis,
    analyze,
    duplicate_problem,
    random_problem,
)
from el_jax.linear_ntp.theory.conditioning import conditioning


def test_what_was_solved_is_kept_when_a_norm_fails(monkeypatch):
    def failing(problem, norm):
        if norm == "spectral":
            raise UndecidedError("undecided after 7 iterations", (0.0, 1.0))
        return solve(problem, norm)

    solve = analysis.max_margin
    monkeypatch.setattr(analysis, "max_margin", failing)
    found = analyze(generic(2), norms=("frobenius", "spectral"))
    assert set(found.margins) == set(found.references) == {"frobenius"}
    assert found.failures == {"spectral": "undecided after 7 iterations"}
    assert found.describe()[-1] == (
        "no max margin in the spectral norm: undecided after 7 iterations"
    )


def test_a_margin_that_did_not_converge_says_so():
    base, direction = random_problem(5, 6, 6, 2), np.random.default_rng(0).standard_normal((6, 1))
    shifted = with_embeddings(base, base.embeddings + 1e7 * direction)
    found = analyze(shifted, norms="spectral")
    assert found.margins["spectral"].gap > 1e-6
    assert ": not converged)" in found.describe()[-1]


def test_what_training_comes_to_is_told_where_a_condition_fails():
    said = analyze(duplicate_problem(2)).describe()
    assert said[-1] == (
        "training separates 4 of 6 pairs of a context and a token outside its support, and comes "
        "to a cross-entropy of 0.776921 nats, 0.139 above the entropy"
    )
    assert analyze(generic(0)).limit is None


def test_activations_that_are_all_zero_are_described():
    found = analyze(with_embeddings(generic(2), np.zeros_like(generic(2).embeddings)))
    assert "converges for step sizes below inf" in found.describe()[2]
    assert "the embedding of context 0 is zero" in " ".join(found.describe())


def test_collisions_and_rank_are_counted():
    embeddings = np.array([[1.0, 1, 0, 0, 0], [0, 1e-4, 2, 2, 0], [0, 0, 0, 0, 3]])
    found = conditioning(embeddings)
    assert (found.rank, found.colliding, found.near_colliding) == (3, 2, 2)
    assert found.describe().startswith("embeddings of rank 3 (d/m = 0.6), condition number ")
    assert found.describe().endswith("equal to another: 2, nearly (within 0.1 %): 2 of 5")
    assert conditioning(np.zeros((2, 3))).rank == 0
    np.testing.assert_allclose(conditioning(np.diag([1e-6, 1e6])).condition, 1)
    apart = np.array([[1.0, 1.0], [0.0, 1e-6]])
    np.testing.assert_allclose(conditioning(apart).condition, 2e6, rtol=1e-3)
